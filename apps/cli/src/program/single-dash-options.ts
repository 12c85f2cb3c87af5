/**
 * Long options may be written with one dash, as Terraform users write them: `-var a=1`, `-auto-approve`, `-target=x`.
 * Everything behind `--` stays as it is, and so do short options.
 *
 * @param names long names without dashes
 */
export function normalizeSingleDash(
  words: readonly string[],
  names: ReadonlySet<string>,
): readonly string[] {
  const end = words.indexOf("--");
  return words.map((word, index) => {
    if (end !== -1 && index >= end) return word;
    const name = /^-([a-z][a-z-]+)(?:=|$)/.exec(word)?.[1];
    return name !== undefined && names.has(name) ? `-${word}` : word;
  });
}
