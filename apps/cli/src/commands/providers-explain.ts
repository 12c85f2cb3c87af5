import type { ProviderSchema, ResourceSchema } from "@stackwright/mux/router";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { blockText, descriptionText, firstSentence, functionText } from "../render/schema-text.ts";
import { openEngine } from "../session/open-engine.ts";
import { loadProject } from "../session/project.ts";
import { openReader, type StoreOptions } from "../session/session.ts";
import { printable } from "../terminal/printable.ts";

/** A provider of the configuration, as it describes itself. */
interface Described {
  readonly source: string;
  readonly version: string;
  readonly schema: ProviderSchema;
}

type Members = ReadonlyMap<string, ResourceSchema>;

/** What a name may be of, in the words of a template. */
interface Kind {
  readonly kind: string;
  readonly plural: string;
  readonly members: (schema: ProviderSchema) => Members;
  /** Names by the tokens under which a package of Pulumi knows them. */
  readonly tokens: (schema: ProviderSchema) => ReadonlyMap<string, string> | undefined;
}

const KINDS: readonly Kind[] = [
  {
    kind: "resource",
    plural: "resources",
    members: ({ resources }) => resources,
    tokens: ({ tokens }) => tokens?.resources,
  },
  {
    kind: "data",
    plural: "data sources",
    members: ({ dataSources }) => dataSources,
    tokens: ({ tokens }) => tokens?.dataSources,
  },
  {
    kind: "ephemeral",
    plural: "ephemeral resources",
    members: ({ ephemeralResources }) => ephemeralResources,
    tokens: () => undefined,
  },
];

/**
 * Says in words what the providers of the configuration have: all types with their first sentences, or one with its arguments and
 * results. A name is a type, with or without its kind before it (`data.NAME`), a token of Pulumi, a function, or the source of a provider.
 */
export async function providersExplain(
  name: string | undefined,
  options: StoreOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal } = context;
  const described = await describe(options, context);
  const text =
    name === undefined
      ? described.map((one) => listText(one, context)).join("\n")
      : described.flatMap((one) => explain(name, one, context)).join("\n");
  if (text === "" && name !== undefined) throw unknown(name, described);
  terminal.write(text === "" ? "The configuration requires no providers.\n" : text);
  return EXIT.ok;
}

async function describe(options: StoreOptions, context: CommandContext): Promise<Described[]> {
  const project = await loadProject(context);
  const session = await openReader(context, options);
  const { registry } = options;
  try {
    const opening = { session, registry, remembersDigests: true };
    await using engine = await openEngine(project, context, opening);
    const described: Described[] = [];
    for (const [source, { address, constraints }] of project.configuration.resolution
      .requirements) {
      const version = await engine.catalog.select({ address, constraints });
      for (const { provider } of await engine.catalog.open({ source, version, alias: "" })) {
        await using opened = provider;
        const { schema } = await opened.schema({ signal: context.signal });
        described.push({ source, version, schema });
      }
    }
    return described;
  } finally {
    await session?.[Symbol.asyncDispose]();
  }
}

function listText({ source, version, schema }: Described, { terminal }: CommandContext): string {
  const lines = [terminal.style.paint("strong", printable(`${source} ${version}`.trim()))];
  const summary = firstSentence(schema.provider.description);
  if (summary !== "") lines.push(`  ${summary}`);
  for (const { plural, members, tokens } of KINDS) {
    const all = [...members(schema)]
      .filter(([type]) => tokens(schema)?.has(type) !== true)
      .map(([type, { block }]) => [type, block.description] as const);
    lines.push(...linesOf(plural, all));
  }
  const functions = [...schema.functions].map(
    ([name, { summary, description }]) => [name, summary || description] as const,
  );
  lines.push(...linesOf("functions", functions));
  return `${lines.join("\n")}\n`;
}

function linesOf(plural: string, all: readonly (readonly [string, string])[]): string[] {
  if (all.length === 0) return [];
  const longest = Math.max(...all.map(([name]) => name.length));
  const lines = all
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, text]) => `    ${name.padEnd(longest)}  ${firstSentence(text)}`.trimEnd());
  return [`  ${plural}`, ...lines.map(printable)];
}

/** Everything of a provider that has the name. */
function explain(name: string, described: Described, { terminal }: CommandContext): string[] {
  const { source, version, schema } = described;
  const { columns, style } = terminal;
  const from = printable(`of ${source} ${version}`.trim());
  const found: string[] = [];
  const add = (title: string, note: string, text: string, rest: string): void => {
    const head = `${style.paint("strong", printable(title))}\n  ${note}\n`;
    const description = descriptionText(text, "  ", columns);
    found.push(head + (description === "" ? "" : `\n${description}`) + rest);
  };
  if (name === source) {
    const { provider } = schema;
    add("provider", from, provider.description, blockText(provider, columns));
  }
  for (const { kind, members, tokens } of KINDS) {
    const named = tokens(schema);
    const short = name.startsWith(`${kind}.`) ? name.slice(kind.length + 1) : name;
    const wanted = named?.get(short) ?? short;
    const member = members(schema).get(wanted);
    if (member === undefined) continue;
    const token = [...(named ?? [])].find(([, type]) => type === wanted)?.[0];
    const note = token === undefined ? from : `${printable(token)} ${from}`;
    const { block } = member;
    const deprecated = block.deprecated ? ", deprecated" : "";
    add(`${kind} ${wanted}${deprecated}`, note, block.description, blockText(block, columns));
  }
  const called = schema.functions.get(name);
  if (called !== undefined) {
    const { description, summary } = called;
    add(`function ${name}`, from, description || summary, functionText(name, called, columns));
  }
  return found;
}

function unknown(name: string, described: readonly Described[]): CommandError {
  const near = described
    .flatMap(({ schema }) => KINDS.flatMap(({ members }) => [...members(schema).keys()]))
    .filter((type) => type.includes(name))
    .slice(0, 5);
  const hint = near.length === 0 ? "" : ` Similar names: ${near.join(", ")}.`;
  return new CommandError(`No provider of the configuration has "${name}".`, {
    advice: `"stackwright providers explain" lists what they have.${hint}`,
  });
}
