interface Core {
  readonly mutate: readonly string[];
  readonly tests: readonly string[];
  /** The titles of tests that are left out: thousands of runs for each mutant, or processes. */
  readonly without?: string;
  /** Under many changes its tests wait for what never comes: none of them takes as long as this. */
  readonly hangsAfterMs?: number;
  readonly floor: number;
}

/**
 * The modules in which a wrong line costs a user an event or a sign-in, each with the tests that have to
 * notice it. `floor` is the share of mutants, in per cent, that they kill at least. It only rises.
 */
export const CORES: Readonly<Record<string, Core>> = {
  time: {
    mutate: [
      'src/time/time-text.ts',
      'src/time/time-tokens.ts',
      'src/time/day-text.ts',
      'src/time/clock-text.ts',
      'src/time/zone-text.ts',
      'src/time/span-text.ts',
      'src/time/resolve-time.ts',
      'src/time/time-advice.ts',
      'src/time/instant.ts',
      'src/time/time-zone.ts',
    ],
    tests: ['test/time/*.test.ts', 'test/settings/timezone.test.ts'],
    without: 'a very long text|in a time that grows with its length',
    floor: 96,
  },
  conditions: {
    mutate: [
      'src/items/item-conditions.ts',
      'src/items/condition-text.ts',
      'src/items/item-filter.ts',
      'src/items/condition-match.ts',
      'src/items/condition-doubt.ts',
      'src/items/exact-numbers.ts',
    ],
    tests: ['test/items/{item-conditions,condition-doubt,exact-numbers,any-element}.test.ts'],
    without:
      'a text that was made of a condition|a condition of 200,000 characters|exactly if it holds for one of its elements',
    floor: 94,
  },
  fields: {
    mutate: ['src/items/{derived-values,field-cursor,field-reader,json-in-text,known-fields}.ts'],
    tests: ['test/items/{derived-values,field-reader,known-fields}.test.ts'],
    without:
      'in linear time|a list of 100,000 elements|what a naive walk|by one rule|objects stand before the id',
    floor: 92,
  },
  'field-paths': {
    mutate: ['src/items/field-path.ts'],
    tests: ['test/items/field-path.test.ts'],
    without: 'which hooktrail help filters describes|in linear time',
    floor: 96,
  },
  columns: {
    mutate: ['src/items/{item-columns,time-column}.ts'],
    tests: ['test/items/{item-columns,time-column}.test.ts'],
    floor: 97,
  },
  scanner: {
    mutate: ['src/items/json-scanner.ts'],
    tests: ['test/items/json-scanner.test.ts'],
    without: 'the scanner accepts exactly what',
    floor: 96,
  },
  'merge-pages': {
    mutate: ['src/paging/merge-pages.ts'],
    tests: ['test/paging/merge-pages.test.ts'],
    floor: 97,
  },
  page: {
    mutate: ['src/paging/page.ts', 'src/items/byte-hash.ts'],
    tests: ['test/paging/page.test.ts', 'test/items/byte-hash.test.ts'],
    without: 'pretty-printed or not',
    floor: 99,
  },
  queries: {
    mutate: ['src/paging/{event-query,read-ahead}.ts'],
    tests: ['test/paging/{event-query,read-ahead}.test.ts'],
    floor: 96,
  },
  sources: {
    mutate: ['src/sources/{creation-order,hash-set,item-text,stored-doubts,stored-matches}.ts'],
    tests: ['test/sources/{creation-order,hash-set,item-text,stored-doubts,stored-matches}.test.ts'],
    without: 'are the same in any pieces|among a million',
    floor: 92,
  },
  'event-source': {
    mutate: ['src/sources/{event-source,find-events,stored-events,stored-place}.ts'],
    tests: ['test/sources/{event-source,find-events,stored-events,stored-place}.test.ts'],
    hangsAfterMs: 6_000,
    floor: 93,
  },
  get: {
    mutate: ['src/get/get-events.ts'],
    tests: ['test/get/*.test.ts'],
    hangsAfterMs: 6_000,
    floor: 92,
  },
  'event-ids': {
    mutate: ['src/ids/{event-ids,id-tally}.ts', 'src/items/guids.ts'],
    tests: ['test/items/guids.test.ts', 'test/ids/*.test.ts'],
    without: 'a file of several pieces',
    floor: 95,
  },
  'event-keys': {
    mutate: ['src/ids/event-keys.ts'],
    tests: ['test/ids/event-keys.test.ts'],
    without: 'a file of several pieces',
    floor: 93,
  },
  files: {
    mutate: ['src/files/{folders,kept-list,whole-files}.ts'],
    tests: ['test/files/{folders,kept-list,whole-files}.test.ts', 'test/files/trusted-path.machine.test.ts'],
    without: 'is refused for|is not followed for secrets',
    floor: 92,
  },
  'read-pages': {
    mutate: ['src/paging/{read-pages,page-walk,reading}.ts'],
    tests: ['test/paging/read-pages.test.ts', 'test/paging/reading.test.ts'],
    floor: 97,
  },
  effects: {
    mutate: ['src/explain/{effects,outcome-words}.ts'],
    tests: ['test/explain/{effects,outcome-words}.test.ts'],
    floor: 96,
  },
  'effect-values': {
    mutate: ['src/explain/{effect-values,two-readings}.ts'],
    tests: ['test/explain/{effect-values,second-reading}.test.ts'],
    floor: 94,
  },
  'exact-counts': {
    mutate: ['src/explain/{cause-commands,cause-conditions,exact-counts}.ts'],
    tests: ['test/explain/{cause-commands,cause-conditions,effect-values,exact-counts}.test.ts'],
    floor: 97,
  },
  // Most of what no test notices in these two only makes them slower.
  candidates: {
    mutate: ['src/explain/conditions.ts'],
    tests: ['test/explain/conditions.test.ts'],
    floor: 92,
  },
  'cause-search': {
    mutate: ['src/explain/cause-search.ts'],
    tests: ['test/explain/{cause-search,explain}.test.ts'],
    without:
      'of more fields than there is room for|nearly every event has another|of more numbers than there are codes|errors with ids and times',
    floor: 92,
  },
  limits: {
    mutate: ['src/explain/{date-limits,spans,time-order}.ts', 'src/statistics/chance.ts'],
    tests: ['test/explain/{date-limits,spans,time-order}.test.ts', 'test/statistics/chance.test.ts'],
    without: 'stands in for no time',
    floor: 92,
  },
  samples: {
    mutate: ['src/sample/*.ts'],
    tests: ['test/sample/*.test.ts'],
    floor: 94,
  },
  lock: {
    mutate: ['src/lock/*.ts'],
    tests: ['test/lock/*.test.ts'],
    hangsAfterMs: 6_000,
    floor: 95,
  },
  journal: {
    mutate: ['src/webhooks/{journal,journal-file,write-queue}.ts'],
    tests: ['test/webhooks/journal.test.ts', 'test/webhooks/journal.hostile.machine.test.ts'],
    without: 'any beginning of a journal|a changed byte costs',
    floor: 92,
  },
  vaults: {
    mutate: ['src/secrets/{file-vault,keychain-vault,sealed-file,secret-files}.ts'],
    tests: ['test/secrets/{file-vault,keychain-vault}.test.ts'],
    hangsAfterMs: 6_000,
    floor: 96,
  },
  refresh: {
    mutate: ['src/sign-in/refresh.ts', 'src/sign-in/spending-mark.ts'],
    tests: ['test/sign-in/refresh-protocol.test.ts'],
    hangsAfterMs: 12_000,
    floor: 99,
  },
  redirect: {
    mutate: ['src/sign-in/redirect-listener.ts'],
    tests: ['test/sign-in/redirect-listener.test.ts'],
    hangsAfterMs: 6_000,
    floor: 92,
  },
  service: {
    mutate: ['src/http/service.ts', 'src/http/redaction.ts'],
    tests: ['test/http/{service,service-error,redaction,retry}.test.ts'],
    floor: 96,
  },
  addresses: {
    mutate: ['src/http/{no-proxy,private-addresses}.ts'],
    tests: ['test/http/{proxies,private-addresses}.test.ts'],
    floor: 94,
  },
  statistics: {
    mutate: [
      'src/stats/tallies.ts',
      'src/questions/event-groups.ts',
      'src/statistics/percentiles.ts',
      'src/questions/grouped-values.ts',
      'src/statistics/proven-rate.ts',
    ],
    tests: [
      'test/stats/{tallies,group-events,zone-buckets,stats-clock-groups,stats-percentiles}.test.ts',
      'test/{questions/folds,questions/grouped-values,statistics/percentiles}.test.ts',
    ],
    floor: 96,
  },
  buckets: {
    mutate: ['src/stats/{buckets,clock-groups}.ts'],
    tests: [
      'test/stats/{tallies,zone-buckets,stats-clock-groups,stats-percentiles,stats,stats-bars}.test.ts',
    ],
    floor: 96,
  },
  export: {
    mutate: [
      'src/export/{export-manifest,export-part,export-plan,part-claims,recount,time-marks}.ts',
      'src/paging/side-by-side.ts',
    ],
    tests: [
      'test/export/{export-manifest,export-part,export-plan,export-window,part-claims,recount,time-marks}.test.ts',
      'test/paging/side-by-side.test.ts',
    ],
    without: 'the manifest of very many events',
    floor: 95,
  },
  'export-parts': {
    mutate: ['src/export/{part-reader,partitions}.ts'],
    tests: ['test/export/{part-reader,export-damage,export-manifest,export-partition,export-update}.test.ts'],
    hangsAfterMs: 6_000,
    floor: 94,
  },
  watch: {
    mutate: ['src/watch/{values-without-events,watch-follower,watch-run}.ts'],
    tests: ['test/watch/{watch-follower,watch}.test.ts'],
    without: 'whatever happens between polls|with a saved state, each event|only the service knows, read',
    hangsAfterMs: 6_000,
    floor: 94,
  },
  'watch-state': {
    mutate: ['src/watch/watch-state.ts'],
    tests: ['test/watch/watch-state.test.ts'],
    hangsAfterMs: 6_000,
    floor: 94,
  },
  polling: {
    mutate: ['src/watch/poll-until-end.ts'],
    tests: ['test/watch/poll-until-end.test.ts'],
    hangsAfterMs: 6_000,
    floor: 92,
  },
  names: {
    mutate: ['src/names/*.ts'],
    tests: ['test/names/*.test.ts'],
    floor: 94,
  },
  questions: {
    mutate: [
      'src/questions/{failure-reasons,health-fold,health-row,latest-failures,outage,outcome-table,receivers}.ts',
      'src/statistics/failure-runs.ts',
    ],
    tests: [
      'test/questions/{folds,health-fold,health-row,outage,outcome-table}.test.ts',
      'test/statistics/failure-runs.test.ts',
    ],
    without: 'if several events have them, each a part',
    floor: 94,
  },
  silences: {
    mutate: ['src/questions/{silence,silent-rows}.ts', 'src/statistics/rhythm.ts'],
    tests: ['test/questions/silences.test.ts', 'test/statistics/rhythm.test.ts'],
    floor: 94,
  },
  alarm: {
    mutate: ['src/statistics/row-alarm.ts'],
    tests: ['test/statistics/row-alarm.test.ts', 'test/health/watched-rows.test.ts'],
    floor: 95,
  },
  reconcile: {
    mutate: ['src/webhooks/reconcile/reconciliation{,-json,-text}.ts'],
    tests: ['test/webhooks/reconcile/reconciliation{,-text}.test.ts'],
    floor: 95,
  },
  recover: {
    mutate: ['src/webhooks/recover/{forward-once,forward-retry,recover}.ts', 'src/webhooks/left-events.ts'],
    tests: [
      'test/webhooks/recover/{forward-once,forward-retry,recover,recover-messages}.test.ts',
      'test/webhooks/left-events.test.ts',
    ],
    without:
      'forwards events missing in the journal|the numbers of events have thousands|a search that fails midway',
    hangsAfterMs: 6_000,
    floor: 92,
  },
  health: {
    mutate: ['src/health/{health-json,health-text}.ts', 'src/health/watch/{reported-change,watched-rows}.ts'],
    tests: ['test/health/{health-text,reported-change,watched-rows}.test.ts'],
    without: 'change as a plain model',
    floor: 94,
  },
  about: {
    mutate: ['src/about/{about-json,about-text,next-commands}.ts'],
    tests: ['test/about/about-text.test.ts'],
    floor: 97,
  },
  'about-subject': {
    mutate: ['src/about/{about-questions,about-subject}.ts'],
    tests: ['test/about/about-{questions,subject}.test.ts'],
    floor: 93,
  },
  filters: {
    mutate: ['src/filters/{event-filters,stats-window}.ts'],
    tests: ['test/filters/event-filters.test.ts', 'test/stats/tallies.test.ts'],
    without: 'every event of the window|with very many stars',
    floor: 92,
  },
  forward: {
    mutate: ['src/webhooks/{delivery,forward}.ts'],
    tests: ['test/webhooks/{delivery,forward}.test.ts'],
    hangsAfterMs: 6_000,
    floor: 94,
  },
  listen: {
    mutate: [
      'src/webhooks/listen/{intake,limited-warnings,missed-events}.ts',
      'src/webhooks/found-events.ts',
    ],
    tests: ['test/webhooks/listen/{intake,missed-events}.test.ts', 'test/webhooks/found-events.test.ts'],
    hangsAfterMs: 6_000,
    floor: 93,
  },
  receiver: {
    mutate: [
      'src/webhooks/listen/{delivery-printer,expected-token,receiver}.ts',
      'src/webhooks/journal-records.ts',
    ],
    tests: [
      'test/webhooks/listen/{delivery-printer,expected-token,receiver}.test.ts',
      'test/webhooks/journal-records.test.ts',
    ],
    hangsAfterMs: 6_000,
    floor: 95,
  },
  replay: {
    mutate: ['src/webhooks/replay/replay.ts', 'src/webhooks/send/send.ts'],
    tests: ['test/webhooks/replay/{replay,replay-stored}.test.ts', 'test/webhooks/send/send.test.ts'],
    without:
      'there was nothing to do tonight|a list was expected|on 80 columns|may be `webhooks listen` itself',
    hangsAfterMs: 12_000,
    floor: 95,
  },
  'sign-in': {
    mutate: ['src/sign-in/{authorization,provider-failure,provider-metadata,token-endpoint}.ts'],
    tests: ['test/sign-in/{authorization,provider-metadata,token-endpoint}.test.ts'],
    floor: 95,
  },
  login: {
    mutate: ['src/sign-in/login/keep-sign-in.ts', 'src/sign-in/{refusal-note,sign-in-lock,store-surely}.ts'],
    tests: ['test/sign-in/{keep-sign-in,refusal-note,store-surely}.test.ts'],
    floor: 95,
  },
  'login-setup': {
    mutate: ['src/sign-in/login/login-setup.ts'],
    tests: ['test/sign-in/login-setup.test.ts'],
    hangsAfterMs: 6_000,
    floor: 95,
  },
  session: {
    mutate: ['src/sign-in/session.ts'],
    tests: ['test/sign-in/session.test.ts'],
    floor: 95,
  },
  'sign-out': {
    mutate: ['src/sign-in/{client-authentication,sign-in-state,sign-out}.ts'],
    tests: ['test/sign-in/{client-proof,sign-in-state,sign-out}.test.ts'],
    hangsAfterMs: 6_000,
    floor: 97,
  },
  'received-ids': {
    mutate: ['src/ids/{id-column,table-rows,received-ids}.ts'],
    tests: ['test/ids/{id-column,table-rows,received-ids}.test.ts'],
    floor: 93,
  },
  formats: {
    mutate: ['src/formats/{csv,csv-columns,json}.ts'],
    tests: ['test/formats/{csv,event-columns,json}.test.ts'],
    without:
      'takes time in step with its size|no cell is a formula|reads back as the same|in any JSON|prints any items',
    floor: 94,
  },
  tables: {
    mutate: ['src/formats/{table,item-writer,output-file,event-columns,item-table}.ts'],
    tests: [
      'test/formats/{event-columns,item-table,item-writer,table,table-layout,table-lines}.test.ts',
      'test/formats/{unloaded-widths,writing-to}.test.ts',
    ],
    without: 'never exceeds its width|20,000 rows in a pipe|a few rows with very many letters',
    hangsAfterMs: 6_000,
    floor: 94,
  },
  'filter-flags': {
    mutate: ['src/filters/{filter-flags,resolve-filters,event-types,reading-flags,no-match}.ts'],
    tests: [
      'test/filters/{event-filters,event-types,filter-flags,filter-keys}.test.ts',
      'test/filters/{no-match,reading-flags,resolve-filters}.test.ts',
    ],
    without: 'with very many stars|is described by hooktrail help filters',
    hangsAfterMs: 6_000,
    floor: 96,
  },
};
