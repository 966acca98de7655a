import type { CommandModule, Example } from '../command.ts';
import { oneOf } from '../settings/flag-values.ts';

/**
 * The summary of a command with the function that loads its module, or of a group with its commands and
 * examples.
 */
export type Node = readonly [
  summary: string,
  content: (() => Promise<CommandModule>) | Nodes,
  examples?: readonly Example[],
];
export type Nodes = { readonly [name: string]: Node };

const profiles = () => import('../profiles/profiles-command.ts');
const config = () => import('../profiles/config-command.ts');
const subscriptionSwitches = () => import('../subscriptions/switch-subscription-commands.ts');
const help: Node = ['explain a command', async () => (await import('./help-command.ts')).helpOfGroup];

export const HIDDEN = '';

/** The whole command tree by the headings of the help: names and summaries only. */
export const tree: Readonly<Record<string, Nodes>> = {
  'Signing in:': {
    login: ['sign in through the browser', () => import('../sign-in/login/login-command.ts')],
    logout: ['delete the secrets that login stored', () => import('../sign-in/logout-command.ts')],
    status: ['show who is signed in, where and until when', () => import('../sign-in/status-command.ts')],
    token: ['print a valid access token and nothing else', () => import('../sign-in/token-command.ts')],
  },
  'Events:': {
    'event-types': ['list the event types on offer', () => import('../event-types/event-types-command.ts')],
    events: [
      'search stored events and their deliveries',
      {
        search: ['search events, through all pages of results', () => import('../search/search-command.ts')],
        about: [
          'show one subscription: failures, outage, causes, next steps',
          () => import('../about/about-command.ts'),
        ],
        find: [
          'find a text as a whole word in any value, or in all profiles',
          () => import('../find/find-command.ts'),
        ],
        browse: ['browse events in an interactive list', () => import('../browse/browse-command.ts')],
        get: ['print events by their ids', () => import('../get/get-command.ts')],
        count: ['print how many events match', () => import('../count/count-command.ts')],
        stats: ['count by type, status and time, with bars', () => import('../stats/stats-command.ts')],
        watch: ['print new events as they appear', () => import('../watch/watch-command.ts')],
        explain: [
          'show what failed events have in common, and since when',
          () => import('../explain/explain-command.ts'),
        ],
        health: [
          'show which subscriptions are failing, since when, and which recovered',
          () => import('../health/health-command.ts'),
        ],
        report: ['write an HTML report about failed deliveries', () => import('../report/report-command.ts')],
        export: [
          'download a large result into files, resumable and verified',
          () => import('../export/export-command.ts'),
        ],
        help,
      },
      ['hooktrail events search --failed --since 24h', 'hooktrail events explain'],
    ],
    subscriptions: [
      "list, read and change the service's subscriptions",
      {
        list: [
          'list the subscriptions that are switched on',
          () => import('../subscriptions/list-subscriptions-command.ts'),
        ],
        get: [
          'print one subscription with its whole address',
          () => import('../subscriptions/get-subscription-command.ts'),
        ],
        check: [
          'check the endpoints of subscriptions from this machine',
          () => import('../subscriptions/check-subscriptions-command.ts'),
        ],
        create: [
          'create a subscription, and save its Api-Token',
          () => import('../subscriptions/create-subscription-command.ts'),
        ],
        update: [
          'change the address, types or marketplaces of a subscription',
          () => import('../subscriptions/update-subscription-command.ts'),
        ],
        enable: ['switch a subscription on', async () => (await subscriptionSwitches()).enable],
        disable: ['switch a subscription off', async () => (await subscriptionSwitches()).disable],
        renew: [
          'get another Api-Token; the old one is invalid at once',
          () => import('../subscriptions/renew-subscription-command.ts'),
        ],
        token: [
          'print the saved Api-Token of a subscription',
          () => import('../subscriptions/subscription-token-command.ts'),
        ],
        help,
      },
      ['hooktrail subscriptions', 'hooktrail subscriptions get hooks.example.com'],
    ],
    webhooks: [
      'receive deliveries, and recover missed events',
      {
        listen: [
          'receive deliveries, drop duplicates and forward them to a handler',
          () => import('../webhooks/listen/listen-command.ts'),
        ],
        recover: [
          'search for events that the journal lacks, and forward them',
          () => import('../webhooks/recover/recover-command.ts'),
        ],
        reconcile: [
          "compare the event ids that you have with the service's records",
          () => import('../webhooks/reconcile/reconcile-command.ts'),
        ],
        replay: [
          'forward chosen events to a handler again',
          () => import('../webhooks/replay/replay-command.ts'),
        ],
        send: [
          'deliver a new event to a handler, to test it',
          () => import('../webhooks/send/send-command.ts'),
        ],
        help,
      },
      ['hooktrail webhooks listen --forward-to 3000', 'hooktrail webhooks listen | jq .'],
    ],
    api: ['send an authenticated request to any path', () => import('../api/api-command.ts')],
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
      ['hooktrail profiles use staging', 'hooktrail profiles delete staging'],
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
      ['hooktrail config set timezone Europe/Berlin', 'hooktrail config list'],
    ],
    doctor: ['check machine, network and sign-in', () => import('../doctor/doctor-command.ts')],
    sandbox: ['run a local identity provider and event service', () => import('../demo/sandbox-command.ts')],
    demo: ['sandbox, sign-in and a search for failures in one go', () => import('../demo/demo-command.ts')],
  },
  'More:': {
    keygen: ['make a random key to seal secret files with', () => import('../secrets/keygen-command.ts')],
    mcp: ['serve agents by the Model Context Protocol, read-only', () => import('../mcp/mcp-command.ts')],
    completion: ["print or install a shell's completion script", () => import('./completion-command.ts')],
    help: ['topics: agents, environment, exit-codes, filters, times', () => import('./help-command.ts')],
  },
  [HIDDEN]: { version: ['print the version', () => import('./version-command.ts')] },
};

/** Flags of every command, except for the first two, which belong to the program itself. */
export const VERSION_FLAG = { flags: '-V, --version', text: 'print the version' };
export const HELP_FLAG = { flags: '-h, --help', text: 'show the help of the command; -h a short form' };
export const GLOBAL_FLAGS: readonly {
  readonly flags: string;
  readonly text: string;
  readonly variables?: readonly string[];
  readonly parse?: (text: string) => string;
}[] = [
  { flags: '--profile <name>', text: 'the profile to use', variables: ['HOOKTRAIL_PROFILE'] },
  {
    flags: '--error-format <form>',
    text: 'errors as text or json',
    variables: ['HOOKTRAIL_ERROR_FORMAT'],
    parse: (text) => oneOf('--error-format', ['text', 'json'])(text),
  },
  { flags: '-v, --verbose', text: 'one line for each request on standard error' },
  { flags: '--debug', text: 'also the headers; secrets are left out' },
  { flags: '--no-color', text: 'no colour', variables: ['NO_COLOR'] },
  { flags: '--quiet', text: 'no progress, no notices; warnings and errors stay' },
];

export const DESCRIPTION = 'Find, understand and recover failed deliveries of an event notification service.';

export const EXAMPLES: readonly string[] = [
  'hooktrail demo',
  'hooktrail login',
  'hooktrail events search --failed --since 24h',
];

export const MAX_USED: readonly string[] = [
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
