import { grouped } from './numbers-text.ts';

export interface ProgressState {
  readonly pages?: number | undefined;
  readonly events?: number | undefined;
  /** Events there are in all, where the service tells. */
  readonly total?: number | undefined;
  /** Events a second; worked out from the time that passed where it is not given. */
  readonly rate?: number | undefined;
  /** Time until the end where it can be told. */
  readonly secondsLeft?: number | undefined;
  /** What the read waits for; empty when it goes on. */
  readonly note?: string | undefined;
}

/** One line: `searching: 12 pages, 6,000 of 200,000 events (3%), 4,500/s; note`. */
export function progressText(label: string, state: ProgressState, seconds: number): string {
  const { pages, events, total, note } = state;
  const parts: string[] = [];
  if (pages !== undefined) parts.push(`${grouped(pages)} ${pages === 1 ? 'page' : 'pages'}`);
  if (events !== undefined) {
    const percent = total ? ` (${Math.min(100, Math.floor((100 * events) / total))}%)` : '';
    parts.push(
      total === undefined
        ? `${grouped(events)} events`
        : `${grouped(events)} of ${grouped(total)} events${percent}`,
    );
  }
  const rate = state.rate ?? (events !== undefined && seconds >= 0.1 ? events / seconds : undefined);
  if (rate) parts.push(`${grouped(Math.round(rate))}/s`);
  if (state.secondsLeft !== undefined) parts.push(`${timeLeft(state.secondsLeft)} left`);
  return `${label}${parts.length > 0 ? `: ${parts.join(', ')}` : ''}${note ? `; ${note}` : ''}`;
}

/** `5 s`, `2 min 5 s`, `1 h 20 min`. */
function timeLeft(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}
