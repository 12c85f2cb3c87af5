/** Where a line of a shell begins another command. */
const BETWEEN_COMMANDS = /\|\||&&|[|;(]/;

/**
 * The uses of `stackwright` that a page writes: in blocks of the shell, and in the text where a span of code begins with its name.
 *
 * @returns The words behind the name, without what a shell redirects and without comments.
 */
export function writtenCommands(page: string): readonly (readonly string[])[] {
  const shell = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block = ""]) =>
    block.replaceAll(/\\\n\s*/g, " ").split("\n"),
  );
  const prose = page.replaceAll(/^```.*?^```$/gms, "");
  const spans = [...prose.matchAll(/`([^`\n]+)`/g)].map(([, span = ""]) => span);
  const parts = shell.flatMap((line) => line.replace(/(?:^|\s)#.*$/, "").split(BETWEEN_COMMANDS));
  const commands = [
    ...parts.map((part) => /^\s*(?:\w+=\S*\s+)*stackwright\s+(.*)$/.exec(part)?.[1]),
    ...spans.map((span) => /^stackwright\s+(.*)$/.exec(span)?.[1]),
  ];
  return commands.flatMap((words) =>
    words === undefined
      ? []
      : [
          words
            .replace(/\s\d?>.*$/, "")
            .trim()
            .split(/\s+/),
        ],
  );
}

/** The names of the long options of a command, as they stand behind the dashes; what follows `--` is of another program. */
export function writtenOptions(words: readonly string[]): readonly string[] {
  const end = words.indexOf("--");
  const own = end === -1 ? words : words.slice(0, end);
  return own.flatMap((word) => {
    const [, name] = /^--?([a-z][a-z0-9-]+)(?:$|[=.,:)])/.exec(word) ?? [];
    return name === undefined ? [] : [name];
  });
}
