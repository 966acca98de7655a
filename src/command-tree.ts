import type { CommandModule } from './command.ts';
import { oneOf } from './settings/flag-values.ts';

interface Node {
  readonly name: string;
  readonly summary: string;
  readonly group?: string;
  /** True for the command that its group runs if none is named. */
  readonly isDefault?: true;
  /** True if help does not show it. */
  readonly isHidden?: true;
  /** Words that people try instead: the error for them names this command. */
  readonly alsoCalled?: readonly string[];
}
/** A command. Its module is loaded when it is called. */
export interface Leaf extends Node {
  load(): Promise<CommandModule>;
}
/** A word that only groups commands. */
export interface Branch extends Node {
  readonly children: readonly Leaf[];
}

/** A flag as commander takes it. */
interface GlobalFlag {
  readonly flags: string;
  readonly text: string;
  readonly parse?: (text: string) => string;
}

const SIGN_IN = 'Signing in:';
const EVENTS = 'Events:';
const SETTINGS = 'Settings and trying it out:';
const MORE = 'More:';

/** For people who try `events help search`. */
const HELP: Leaf = {
  name: 'help',
  summary: 'explain a command',
  load: () => import('./commands/help.ts'),
};

/** The whole command tree: names and summaries only. */
export const tree: readonly (Branch | Leaf)[] = [
  {
    name: 'login',
    alsoCalled: ['auth login', 'auth', 'signin', 'sign-in', 'configure', 'init', 'setup'],
    group: SIGN_IN,
    summary: 'sign in through the browser',
    load: () => import('./commands/login.ts'),
  },
  {
    name: 'logout',
    alsoCalled: ['auth logout', 'signout', 'sign-out'],
    group: SIGN_IN,
    summary: 'delete the secrets that login stored',
    load: () => import('./commands/logout.ts'),
  },
  {
    name: 'status',
    alsoCalled: ['auth status', 'whoami', 'me'],
    group: SIGN_IN,
    summary: 'show who is signed in, where and until when',
    load: () => import('./commands/status.ts'),
  },
  {
    name: 'token',
    alsoCalled: ['auth token', 'auth print-access-token'],
    group: SIGN_IN,
    summary: 'print a valid access token and nothing else',
    load: () => import('./commands/token.ts'),
  },
  {
    name: 'event-types',
    alsoCalled: ['types', 'topics'],
    group: EVENTS,
    summary: 'list the event types that the service offers',
    load: () => import('./commands/event-types.ts'),
  },
  {
    name: 'events',
    group: EVENTS,
    summary: 'search stored events and their deliveries',
    children: [
      {
        name: 'search',
        alsoCalled: ['list', 'ls', 'find', 'query', 'logs', 'log'],
        summary: 'search events, through all pages of results',
        load: () => import('./commands/events/search.ts'),
      },
      {
        name: 'browse',
        alsoCalled: ['open', 'tui', 'ui'],
        summary: 'browse events in an interactive list on the terminal',
        load: () => import('./commands/events/browse.ts'),
      },
      {
        name: 'get',
        alsoCalled: ['show', 'view', 'describe', 'inspect'],
        summary: 'print events by their ids',
        load: () => import('./commands/events/get.ts'),
      },
      {
        name: 'count',
        summary: 'print how many events match',
        load: () => import('./commands/events/count.ts'),
      },
      {
        name: 'stats',
        alsoCalled: ['statistics', 'summary', 'metrics'],
        summary: 'count by type, status and time, with bars',
        load: () => import('./commands/events/stats.ts'),
      },
      {
        name: 'watch',
        alsoCalled: ['tail', 'follow', 'logs tail'],
        summary: 'print new events as they appear',
        load: () => import('./commands/events/watch.ts'),
      },
      {
        name: 'explain',
        alsoCalled: ['why', 'diagnose'],
        summary: 'say what failed events have in common, and since when',
        load: () => import('./commands/events/explain.ts'),
      },
      {
        name: 'health',
        alsoCalled: ['subscriptions'],
        summary: 'say which subscriptions are failing, since when, and which recovered',
        load: () => import('./commands/events/health.ts'),
      },
      {
        name: 'report',
        summary: 'write an HTML report about failed deliveries',
        load: () => import('./commands/events/report.ts'),
      },
      {
        name: 'export',
        alsoCalled: ['download', 'dump'],
        summary: 'download a large result into files, resumable and verified',
        load: () => import('./commands/events/export.ts'),
      },
      HELP,
    ],
  },
  {
    name: 'webhooks',
    group: EVENTS,
    summary: 'receive deliveries, recover those that were missed',
    children: [
      {
        name: 'listen',
        alsoCalled: ['forward', 'receive', 'serve'],
        summary: 'receive deliveries, drop duplicates and forward them to a handler',
        load: () => import('./commands/webhooks/listen.ts'),
      },
      {
        name: 'recover',
        alsoCalled: ['catch-up'],
        summary: 'find by search the events that the journal lacks, and forward them',
        load: () => import('./commands/webhooks/recover.ts'),
      },
      {
        name: 'replay',
        alsoCalled: ['retry', 'resend', 'redeliver'],
        summary: 'forward chosen events to a handler again',
        load: () => import('./commands/webhooks/replay.ts'),
      },
      {
        name: 'send',
        alsoCalled: ['test', 'trigger'],
        summary: 'deliver a new event to a handler, to test it',
        load: () => import('./commands/webhooks/send.ts'),
      },
      HELP,
    ],
  },
  {
    name: 'api',
    group: EVENTS,
    summary: 'send an authenticated request to any path',
    load: () => import('./commands/api.ts'),
  },
  {
    name: 'profiles',
    alsoCalled: ['profile', 'contexts', 'environments'],
    group: SETTINGS,
    summary: 'manage several environments side by side',
    children: [
      {
        name: 'list',
        isDefault: true,
        summary: 'list the profiles',
        load: () => import('./commands/profiles.ts').then((profiles) => profiles.profileList),
      },
      {
        name: 'use',
        summary: 'make a profile the default',
        load: () => import('./commands/profiles.ts').then((profiles) => profiles.profileUse),
      },
      {
        name: 'delete',
        summary: 'delete a profile and its secrets',
        load: () => import('./commands/profiles.ts').then((profiles) => profiles.profileDelete),
      },
      HELP,
    ],
  },
  {
    name: 'config',
    alsoCalled: ['settings', 'configuration'],
    group: SETTINGS,
    summary: 'show and change the settings of a profile',
    children: [
      {
        name: 'list',
        isDefault: true,
        summary: 'list the saved settings',
        load: () => import('./commands/config.ts').then((config) => config.list),
      },
      {
        name: 'get',
        summary: 'print one setting',
        load: () => import('./commands/config.ts').then((config) => config.get),
      },
      {
        name: 'set',
        summary: 'save a setting',
        load: () => import('./commands/config.ts').then((config) => config.set),
      },
      {
        name: 'unset',
        summary: 'remove a saved setting',
        load: () => import('./commands/config.ts').then((config) => config.unset),
      },
      {
        name: 'path',
        summary: 'print where the settings are saved',
        load: () => import('./commands/config.ts').then((config) => config.path),
      },
      HELP,
    ],
  },
  {
    name: 'doctor',
    alsoCalled: ['check', 'diagnose'],
    group: SETTINGS,
    summary: 'check machine, network and sign-in',
    load: () => import('./commands/doctor.ts'),
  },
  {
    name: 'sandbox',
    alsoCalled: ['mock', 'server'],
    group: SETTINGS,
    summary: 'run a local identity provider and event service',
    load: () => import('./commands/sandbox.ts'),
  },
  {
    name: 'demo',
    group: SETTINGS,
    summary: 'sandbox, sign-in and a search for failures in one go',
    load: () => import('./commands/demo.ts'),
  },
  {
    name: 'keygen',
    group: MORE,
    summary: 'make a random key to seal secret files with',
    load: () => import('./commands/keygen.ts'),
  },
  {
    name: 'mcp',
    group: MORE,
    summary: 'serve agents by the Model Context Protocol, read-only',
    load: () => import('./commands/mcp.ts'),
  },
  {
    name: 'completion',
    group: MORE,
    summary: 'print or install the completion script of a shell',
    load: () => import('./commands/completion.ts'),
  },
  {
    name: 'help',
    alsoCalled: ['man', 'docs'],
    isDefault: true,
    group: MORE,
    summary: 'topics: agents, environment, exit-codes, filters, times',
    load: () => import('./commands/help.ts'),
  },
  {
    name: 'version',
    isHidden: true,
    summary: 'print the version',
    load: () => import('./commands/version.ts'),
  },
];

/** The flags that every command takes, but for the first two of the program itself. */
export const VERSION_FLAG = { flags: '-V, --version', text: 'print the version' };
export const HELP_FLAG = { flags: '-h, --help', text: 'explain the command; -h in short' };
export const GLOBAL_FLAGS: readonly GlobalFlag[] = [
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
