import { type Draw, drawOf, randomOf } from './planted-causes.ts';

type Json = { [name: string]: unknown };

/** Words of which names of fields are made. */
const WORDS = [
  ...['action', 'base', 'branch', 'check', 'commit', 'created', 'default', 'draft', 'emoji', 'fork', 'head'],
  ...['hook', 'issue', 'label', 'merge', 'node', 'open', 'owner', 'pushed', 'release', 'review', 'run'],
  ...['sender', 'size', 'star', 'suite', 'team', 'title', 'topic', 'user', 'visibility', 'watch', 'workflow'],
];
const PEOPLE = ['ada', 'ben', 'cleo', 'dan', 'eve', 'fay'];
const TYPES_OF_CODE_HOST = 58;
/** Members of a type's own object: 58 of them have 3,900 fields in all. */
const FIELDS_OF_TYPE = 66;

export type Place = 'code host' | 'shop' | 'payments';

/** Events as other people's services write them: invented values behind names that such services have. */
export function foreignEvent(place: Place, draw: Draw, index: number): Json {
  return { 'code host': codeHostEvent, shop: shopEvent, payments: paymentEvent }[place](draw, index);
}

/** Names of the fields that only this type has. */
function ownNames(type: number): string[] {
  const { pick } = drawOf(randomOf(type));
  return Array.from({ length: FIELDS_OF_TYPE }, (_, at) => `${pick(WORDS)}_${pick(WORDS)}_${at}`);
}

const NAMES_BY_TYPE = Array.from({ length: TYPES_OF_CODE_HOST }, (_, type) => ownNames(type));

function codeHostEvent({ below, pick, random }: Draw, index: number): Json {
  const type = Math.floor(TYPES_OF_CODE_HOST * random() ** 1.5);
  const name = `${WORDS[type % WORDS.length]}.${Math.floor(type / WORDS.length)}`;
  const repository = below(40);
  const values = [
    () => below(5),
    () => pick(PEOPLE),
    () => pick([null, 'x', 'y']),
    () => random() < 0.5,
    () => `u${below(1e6)}`,
  ];
  const own = NAMES_BY_TYPE[type]?.map((field, at) => [
    field,
    (values[at % values.length] as () => unknown)(),
  ]);
  return {
    eventType: name,
    data: {
      action: pick(['opened', 'closed', 'edited']),
      [`object_${type}`]: Object.fromEntries(own ?? []),
      repository: {
        id: 70_000 + repository,
        full_name: `team/repo-${repository}`,
        default_branch: repository % 5 === 0 ? 'master' : pick(['main', 'main', 'trunk']),
        pushed_at: 1_790_000_000 + index * 60 + below(600),
        open_issues_count: below(80),
      },
      sender: { login: pick(PEOPLE), site_admin: random() < 0.1 },
      commits: Array.from({ length: below(4) }, () => ({
        author: pick(PEOPLE),
        id: below(1e9).toString(16),
      })),
    },
  };
}

function shopEvent({ below, pick, random }: Draw, index: number): Json {
  return {
    eventType: pick(['orders/create', 'orders/paid', 'customers/update']),
    order: {
      number: 1001 + index,
      line_items: Array.from({ length: 1 + below(3) }, () => ({
        sku: `SKU-${below(12)}`,
        vendor: pick(['north', 'south', null]),
        presentation: pick(['box', 'bag', 'tube']),
      })),
      customer: {
        default_address: { country_code: pick(['DE', 'FR', 'CH', 'AT']) },
        default_currency: pick(['EUR', 'CHF', 'USD']),
        consent_at: random() < 0.6 ? `2026-0${1 + below(9)}-11T08:00:00Z` : null,
      },
      tracked: random() < 0.5,
      packed: pick(['yes', 'no', 'partly']),
      total_price: (below(90_000) / 100).toFixed(2),
    },
  };
}

function paymentEvent({ below, pick, random }: Draw, index: number): Json {
  return {
    eventType: pick(['charge.updated', 'payout.paid', 'refund.created']),
    object: {
      id: `ch_${index}${below(1e6)}`,
      amount: 100 * (1 + below(3000)),
      currency: pick(['eur', 'chf', 'usd']),
      outcome: {
        network_result: pick(['approved', 'declined', 'reversed']),
        risk_level: pick(['low', 'high']),
      },
      failure_code: random() < 0.2 ? pick(['card_declined', 'expired_card']) : null,
      payment_attempts_allowed: 1 + below(4),
      livemode: random() < 0.7,
    },
  };
}
