import commandLine from './rows/command-line.mjs';
import connection from './rows/connection.mjs';
import consoleRows from './rows/console.mjs';
import decorator from './rows/decorator.mjs';
import leaders from './rows/leaders.mjs';
import module from './rows/module.mjs';
import names from './rows/names.mjs';
import nesting from './rows/nesting.mjs';
import options from './rows/options.mjs';
import results from './rows/results.mjs';
import testing from './rows/testing.mjs';

/** As a user meets them. @type {import('./run.mjs').Group[]} */
export const groups = [
  ...[names, decorator, options, connection, module, results],
  ...[nesting, leaders, consoleRows, testing, commandLine],
];
