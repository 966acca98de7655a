import type { FilterFlags } from './filter-flags.ts';

/** Filters by the names of their flags, as they were typed. */
export type Filters = Readonly<Record<string, string | readonly string[]>>;

/** The filters as typed, synonyms made one and the order of repeated flags forgotten. */
export function typedFilters(flags: FilterFlags): Filters {
  const { subscription, id, type } = flags;
  const after = flags.after ?? flags.since;
  const before = flags.before ?? flags.until;
  const statuses = (flags.status ?? []).map((status) => status.toUpperCase());
  const lists = { subscription, id, status: [...statuses, ...(flags.failed ? ['FAILED'] : [])], type };
  return {
    ...(after === undefined ? {} : { after }),
    ...(before === undefined ? {} : { before }),
    ...Object.fromEntries(
      Object.entries(lists).flatMap(([name, values]) =>
        values && values.length > 0 ? [[name, [...new Set(values)].sort()]] : [],
      ),
    ),
  };
}

/** Each filter as a flag and its value. */
export function filterTexts(filters: Filters): string[] {
  return Object.entries(filters).flatMap(([name, value]) =>
    (typeof value === 'string' ? [value] : value).map((one) => `--${name} ${one}`),
  );
}
