import { besideRedisson } from './support/beside-redisson.js';

besideRedisson('3.52.0');
