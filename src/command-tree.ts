import type { CommandModule } from './command.ts';
import { oneOf } from './settings/flag-values.ts';

/** The summary of a command with the function that loads its module, or of a group with its commands and help. */
export type Node = readonly [summary: string, content: (() => Promise<CommandModule>) | Nodes, help?: string];
export type Nodes = { readonly [name: string]: Node };

const profiles = () => import('./commands/profiles.ts');
const config = () => import('./commands/config.ts');
const help: Node = ['explain a command', async () => (await import('./commands/help.ts')).helpOfGroup];

/** The heading of commands that help does not show. */
export const HIDDEN = '';

/** The whole command tree by the headings of the help: names and summaries only. */
export const tree: Readonly<Record<string, Nodes>> = {
  'Signing in:': {
    login: ['sign in through the browser', () => import('./commands/login.ts')],
    logout: ['delete the secrets that login stored', () => import('./commands/logout.ts')],
    status: ['show who is signed in, where and until when', () => import('./commands/status.ts')],
    token: ['print a valid access token and nothing else', () => import('./commands/token.ts')],
  },
  'Events:': {
    'event-types': ['list the event types on offer', () => import('./commands/event-types.ts')],
    events: [
      'search stored events and their deliveries',
      {
        search: ['search events, through all pages of results', () => import('./commands/events/search.ts')],
        browse: ['browse events in an interactive list', () => import('./commands/events/browse.ts')],
        get: ['print events by their ids', () => import('./commands/events/get.ts')],
        count: ['print how many events match', () => import('./commands/events/count.ts')],
        stats: ['count by type, status and time, with bars', () => import('./commands/events/stats.ts')],
        watch: ['print new events as they appear', () => import('./commands/events/watch.ts')],
        explain: [
          'say what failed events have in common, and since when',
          () => import('./commands/events/explain.ts'),
        ],
        health: [
          'say which subscriptions are failing, since when, and which recovered',
          () => import('./commands/events/health.ts'),
        ],
        report: ['write an HTML report about failed deliveries', () => import('./commands/events/report.ts')],
        export: [
          'download a large result into files, resumable and verified',
          () => import('./commands/events/export.ts'),
        ],
        help,
      },
      'Examples:\n  $ hooktrail events search --failed --since 24h\n  $ hooktrail events explain',
    ],
    subscriptions: [
      "list the service's subscriptions, and read one",
      {
        list: [
          'list the subscriptions that are switched on',
          () => import('./commands/subscriptions/list.ts'),
        ],
        get: ['print one subscription, whole', () => import('./commands/subscriptions/get.ts')],
        help,
      },
      'Examples:\n  $ hooktrail subscriptions\n  $ hooktrail subscriptions get hooks.example.com',
    ],
    webhooks: [
      'receive deliveries, recover those that were missed',
      {
        listen: [
          'receive deliveries, drop duplicates and forward them to a handler',
          () => import('./commands/webhooks/listen.ts'),
        ],
        recover: [
          'find by search the events that the journal lacks, and forward them',
          () => import('./commands/webhooks/recover.ts'),
        ],
        replay: ['forward chosen events to a handler again', () => import('./commands/webhooks/replay.ts')],
        send: ['deliver a new event to a handler, to test it', () => import('./commands/webhooks/send.ts')],
        help,
      },
      'Examples:\n  $ hooktrail webhooks listen --forward-to 3000\n  $ hooktrail webhooks listen | jq .',
    ],
    api: ['send an authenticated request to any path', () => import('./commands/api.ts')],
  },
  'Settings and trying it out:': {
    profiles: [
      'manage several environments side by side',
      {
        list: ['list the profiles', async () => (await profiles()).profileList],
        use: ['make a profile the default', async () => (await profiles()).profileUse],
        delete: ['delete a profile and its secrets', async () => (await profiles()).profileDelete],
        help,
      },
      'Examples:\n  $ hooktrail profiles use staging\n  $ hooktrail profiles delete staging',
    ],
    config: [
      'show and change the settings of a profile',
      {
        list: ['list the saved settings', async () => (await config()).list],
        get: ['print one setting', async () => (await config()).get],
        set: ['save a setting', async () => (await config()).set],
        unset: ['remove a saved setting', async () => (await config()).unset],
        path: ['print where the settings are saved', async () => (await config()).path],
        help,
      },
      'Examples:\n  $ hooktrail config set timezone Europe/Berlin\n  $ hooktrail config list',
    ],
    doctor: ['check machine, network and sign-in', () => import('./commands/doctor.ts')],
    sandbox: ['run a local identity provider and event service', () => import('./commands/sandbox.ts')],
    demo: ['sandbox, sign-in and a search for failures in one go', () => import('./commands/demo.ts')],
  },
  'More:': {
    keygen: ['make a random key to seal secret files with', () => import('./commands/keygen.ts')],
    mcp: ['serve agents by the Model Context Protocol, read-only', () => import('./commands/mcp.ts')],
    completion: ["print or install a shell's completion script", () => import('./commands/completion.ts')],
    help: ['topics: agents, environment, exit-codes, filters, times', () => import('./commands/help.ts')],
  },
  [HIDDEN]: { version: ['print the version', () => import('./commands/version.ts')] },
};

/** The flags that every command takes, but for the first two of the program itself. */
export const VERSION_FLAG = { flags: '-V, --version', text: 'print the version' };
export const HELP_FLAG = { flags: '-h, --help', text: 'explain the command; -h in short' };
export const GLOBAL_FLAGS: readonly {
  readonly flags: string;
  readonly text: string;
  readonly parse?: (text: string) => string;
}[] = [
  { flags: '--profile <name>', text: 'the profile to use [HOOKTRAIL_PROFILE]' },
  {
    flags: '--error-format <form>',
    text: 'errors as text or json [HOOKTRAIL_ERROR_FORMAT]',
    parse: (text) => oneOf('--error-format', ['text', 'json'])(text),
  },
  { flags: '-v, --verbose', text: 'one line for each request on standard error' },
  { flags: '--debug', text: 'headers too; secrets are left out' },
  { flags: '--no-color', text: 'no colour [NO_COLOR]' },
  { flags: '--quiet', text: 'no progress, no notices; warnings and errors stay' },
];

export const DESCRIPTION = 'Find, understand and recover failed deliveries of an event notification service.';

export const EXAMPLES: readonly string[] = [
  'hooktrail demo',
  'hooktrail login',
  'hooktrail events search --failed --since 24h',
];

/** The commands that `hooktrail -h` shows. */
export const MOST_USED: readonly string[] = [
  'login',
  'status',
  'events search',
  'events get',
  'events explain',
  'events health',
  'events stats',
  'events watch',
  'events browse',
  'webhooks listen',
  'webhooks recover',
  'doctor',
  'sandbox',
];
