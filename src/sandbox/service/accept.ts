/**
 * Whether an `Accept` header names the versioned media type of the service (service description, part 9). Wildcards do
 * not: the header chooses the version and is required.
 */
export function accepts(header: string | undefined, mediaType: string): boolean {
  return (header ?? '').split(',').some((range) => {
    const [type, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const refused = parameters.some((parameter) => /^q\s*=\s*0(\.0*)?$/.test(parameter));
    return type === mediaType.toLowerCase() && !refused;
  });
}
