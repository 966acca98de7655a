/** Indents JSON text as it is, without reading its values: numbers, duplicate members and escapes stay. */
export function indent(json: string): string {
  let depth = 0;
  const line = () => `\n${'  '.repeat(depth)}`;
  return json.replace(/"(?:[^"\\]|\\.)*"|\{\s*\}|\[\s*\]|[{}[\],:]|\s+/gs, (token) => {
    switch (token[0]) {
      case '{':
      case '[':
        if (token.length > 1) return token;
        depth++;
        return token + line();
      case '}':
      case ']':
        depth--;
        return line() + token;
      case ',':
        return token + line();
      case ':':
        return ': ';
      case '"':
        return token;
      default:
        return '';
    }
  });
}
