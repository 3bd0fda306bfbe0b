import { besideRedisson } from './support/beside-redisson.js';

besideRedisson('3.24.3');
