import type { Command } from "commander";

export type Shell = "bash" | "zsh" | "fish";

interface Entry {
  /** Words behind the name of the command, such as `state list`. */
  readonly words: readonly string[];
  readonly description: string;
  readonly options: readonly { readonly flag: string; readonly description: string }[];
}

/** A script that completes the commands and options of `program`, for `eval` or a completion folder. */
export function completionScript(program: Command, shell: Shell): string {
  const entries = collect(program, []);
  switch (shell) {
    case "fish":
      return fishScript(program.name(), entries);
    case "zsh":
      return `autoload -U +X bashcompinit && bashcompinit\n${bashScript(program.name(), entries)}`;
    case "bash":
    default:
      return bashScript(program.name(), entries);
  }
}

function collect(command: Command, words: readonly string[]): Entry[] {
  const own: Entry = {
    words,
    description: command.description(),
    options: command.options
      .filter(({ long, hidden }) => long !== undefined && !hidden)
      .map(({ long, description }) => ({ flag: long ?? "", description })),
  };
  return [own, ...command.commands.flatMap((child) => collect(child, [...words, child.name()]))];
}

/** What may follow the words of an entry: the names of the commands below it. */
function next(entries: readonly Entry[], { words }: Entry): string[] {
  return entries
    .filter((other) => other.words.length === words.length + 1)
    .filter((other) => words.every((word, index) => other.words[index] === word))
    .map((other) => other.words.at(-1) ?? "");
}

function bashScript(name: string, entries: readonly Entry[]): string {
  const cases = entries
    .map((entry) => {
      const offers = [...next(entries, entry), ...entry.options.map(({ flag }) => flag)].join(" ");
      return `    "${entry.words.join(" ")}") offers="${offers}" ;;`;
    })
    .join("\n");
  const known = entries
    .filter(({ words }) => words.length > 0)
    .map(({ words }) => `"${words.join(" ")}"`)
    .join("|");
  return `_${name}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path="" word offers="" index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    case "\${path:+$path }$word" in
      ${known}) path="\${path:+$path }$word" ;;
    esac
  done
  case "$path" in
${cases}
  esac
  COMPREPLY=($(compgen -W "$offers" -- "$current"))
  [[ \${#COMPREPLY[@]} -eq 0 ]] && COMPREPLY=($(compgen -f -- "$current"))
}
complete -o filenames -F _${name} ${name}
`;
}

function fishScript(name: string, entries: readonly Entry[]): string {
  const lines = entries.flatMap(({ words, description, options }) => {
    const parents = words.slice(0, -1);
    const seen = (list: readonly string[]): string =>
      list.map((word) => `__fish_seen_subcommand_from ${word}`).join("; and ");
    const own =
      words.length === 0
        ? []
        : [
            `complete -c ${name} -n '${parents.length === 0 ? "__fish_use_subcommand" : seen(parents)}' -a ${words.at(-1) ?? ""} -d ${quote(description)}`,
          ];
    const condition = words.length === 0 ? "" : ` -n '${seen(words)}'`;
    return [
      ...own,
      ...options.map(
        (option) =>
          `complete -c ${name}${condition} -l ${option.flag.slice(2)} -d ${quote(option.description)}`,
      ),
    ];
  });
  return `${lines.join("\n")}\n`;
}

function quote(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
