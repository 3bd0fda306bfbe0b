import { besideRedisson } from './support/beside-redisson.js';

besideRedisson('4.7.0');
