/** By `publishStatus`: true if the delivery failed; undefined if unknown (service description, part 3). */
export function parseOutcome(status: string | undefined): boolean | undefined {
  if (status === 'FAILED') return true;
  return status === 'SUCCESS' ? false : undefined;
}
