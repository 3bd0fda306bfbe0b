/**
 * The rooms of lib by floors, from the ground. A room imports from its own floor and those below: one rule for each floor.
 * Paths are relative to the repository. To see that a rule still finds something, write the import that it forbids.
 */
const floors = [
  ['errors', 'diagnostics'],
  ['core'],
  ['key', 'backends', 'operators', 'leader'],
  ['connection'],
  ['worker', 'nest', 'telemetry', 'client'],
  ['console', 'cli', 'testing'],
];
// One part of lib each, on a real Redis. The list only gets shorter: a file that no longer looks inside leaves it.
const lookInside = [
  'integration/console/answers',
  'integration/console/guards',
  'integration/engine/async-context',
  'integration/engine/channel-subscriber',
  'integration/engine/late',
  'integration/engine/redisson-turns',
  'integration/ops/rules',
];
const PLAIN = '^lib/(core|errors|diagnostics|key)/';
const npm = (name) => `(^|node_modules/)${name}(/|$)`;
const error = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

module.exports = {
  forbidden: [
    error(
      'no-cycles',
      'Two files that need each other when they are loaded are one file, or want a third.',
      {},
      { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    ),
    error(
      'no-cycles-between-rooms',
      'Types of one room may refer to each other. A cycle between two rooms hides which one is below.',
      { path: '^lib/((?:backends/)?[^/]+)/' },
      { circular: true, path: '^lib/', pathNot: '^lib/$1/' },
    ),
    error('resolvable', 'An import that nothing answers.', {}, { couldNotResolve: true }),

    ...floors.map((rooms, floor) =>
      error(
        `nothing-above-${rooms.join('-')}`,
        'A room knows the floors below it, and none above.',
        { path: `^lib/(${rooms.join('|')})/` },
        {
          path: '^lib/',
          pathNot: `^lib/(${floors
            .slice(0, floor + 1)
            .flat()
            .join('|')})/`,
        },
      ),
    ),
    error(
      'key-and-backends-stand-on-core',
      'Templates end in a name that core defines, and a backend implements its port: they know no other room of their floor.',
      { path: '^lib/(key|backends)/' },
      { path: '^lib/(key|backends|operators|leader)/', pathNot: '^lib/$1/' },
    ),
    error(
      'backends-apart',
      'The quorum knows no Redis: it votes over the port.',
      { path: '^lib/backends/([^/]+)/' },
      { path: '^lib/backends/[^/]+/', pathNot: '^lib/backends/$1/' },
    ),
    error(
      'telemetry-loads-nothing',
      'An SDK is set up before the application loads what it instruments: telemetry knows the channels by name, and types.',
      { path: '^lib/telemetry/(metrics|otel)/' },
      {
        pathNot: ['^lib/telemetry/(metrics|otel)/', '^(node:)?diagnostics_channel$', npm('@opentelemetry/api')],
        dependencyTypesNot: ['type-only'],
      },
    ),
    error(
      'nobody-imports-telemetry',
      'Locks know of channels only. The main entry has a type that both adapters share.',
      { path: '^lib/', pathNot: '^lib/(telemetry/|index\\.ts)' },
      { path: '^lib/telemetry/(metrics|otel|prometheus)/' },
    ),
    error(
      'nobody-imports-testing',
      "What is for tests stays out of the package's own paths.",
      { path: '^lib/', pathNot: '^lib/testing/' },
      { path: '^lib/testing/' },
    ),
    error(
      'lib-knows-no-user',
      'lib never looks at sample, examples, test, scripts or the site.',
      { path: '^lib/' },
      { path: '^(sample|examples|test|scripts|site)/' },
    ),
    error(
      'sample-uses-the-front-door',
      'The sample and the examples are users: public API only.',
      { path: '^(sample|examples)/' },
      {
        path: '^lib/',
        // The pages of the sample are made of the console's parts: a look and a check of one kind.
        pathNot: [
          '^lib/index\\.ts$',
          '^lib/([^/]+|telemetry/[^/]+)/index\\.ts$',
          '^lib/console/(page/|same-origin\\.ts$)',
        ],
      },
    ),

    error(
      'tests-use-the-front-door',
      'Integration, fault and e2e tests are users. What they need beside the public API is in test/support.',
      { path: '^test/(integration|fault|e2e)/', pathNot: lookInside.map((file) => `^test/${file}\\.spec\\.ts$`) },
      { path: '^lib/', pathNot: ['^lib/(index|connection/backend)\\.ts$', '^lib/([^/]+|telemetry/[^/]+)/index\\.ts$'] },
    ),

    error(
      'node-behind-the-platform',
      'The simulator in the documents runs these rooms in a browser, with another file in place of lib/diagnostics/platform.ts.',
      {
        path: '^lib/((core|diagnostics|errors|backends/memory)/|testing/virtual-clock\\.ts$)',
        pathNot: '^lib/diagnostics/platform\\.ts$',
      },
      { dependencyTypes: ['core'] },
    ),
    error(
      'nest-only-on-top',
      'core, backends, errors, diagnostics and key are plain TypeScript.',
      { path: '^lib/(core|backends|errors|diagnostics|key)/' },
      { path: npm('(@nestjs/[^/]+|reflect-metadata)') },
    ),
    error(
      'core-without-ioredis',
      'ioredis lives in backends/redis; the options may name its types.',
      {
        path: '^lib/',
        pathNot: [
          '^lib/backends/redis/',
          '^lib/connection/(connection\\.options|resolve-connection)\\.ts$',
          '^lib/cli/connect\\.ts$',
        ],
      },
      { path: npm('ioredis') },
    ),
    error(
      'options-name-ioredis-types-only',
      'The options describe a client, they do not load one.',
      { path: '^lib/(connection|cli)/' },
      { path: npm('ioredis'), dependencyTypesNot: ['type-only'] },
    ),
    error(
      'plain-rooms-without-packages',
      'Two packages are enough: ms for durations, acorn for parameter names.',
      { path: PLAIN },
      { path: 'node_modules/', pathNot: npm('(ms|@types/ms|acorn)') },
    ),
    error(
      'shipped-code-needs-shipped-packages',
      'A dev dependency is not there when a user installs the package.',
      { path: '^lib/', pathNot: '^lib/testing/' },
      {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'],
        dependencyTypesNot: ['npm', 'npm-peer', 'type-only'],
      },
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|coverage)/' },
    tsConfig: { fileName: 'tsconfig.json' },
    // Imports of types only count too: a type is a dependency of the reader.
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
