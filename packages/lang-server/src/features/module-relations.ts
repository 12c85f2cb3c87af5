import { type BodyItem, type Expression, parseModuleSource } from "@stackwright/lang";
import { uriOf } from "../document/locate.ts";
import { textOf } from "../index/text-of.ts";
import type { Workspace } from "../index/workspace.ts";
import { sourceOfProvider } from "../schema/body-shape.ts";
import { locksOf } from "./provider-locks.ts";

/** Of the answers below, as clients of other servers of the language expect them. */
const FORMAT = 0;
/** Calls in an answer: where each module calls another one twice, they double with each level. */
const MAX_CALLS = 2_000;

interface ModuleCall {
  readonly name: string;
  readonly source_addr: string;
  readonly version?: string;
  /** Empty where the source is no valid one. */
  readonly source_type: "local" | "tfregistry" | "remote" | "";
  /** What the called module calls, as far as it is on the disk. */
  readonly dependent_modules: readonly ModuleCall[];
}

interface ProviderRequirement {
  readonly display_name: string;
  readonly version_constraint?: string;
}

/** The folders of the workspace whose modules call the one of a folder. */
export function moduleCallers(workspace: Workspace, folder: string) {
  return { v: FORMAT, callers: workspace.callersOf(folder).map((each) => ({ uri: uriOf(each) })) };
}

/** What the module of a folder calls, and what that calls; at most 2,000 calls. */
export function moduleCalls(workspace: Workspace, folder: string) {
  const room = { left: MAX_CALLS };
  return {
    v: FORMAT,
    module_calls: callsOf(workspace, folder, { around: new Set([folder]), room }),
  };
}

/** The providers that the module of a folder requires, by source, and the versions that its lock file has. */
export function moduleProviders(workspace: Workspace, folder: string) {
  const required: Record<string, ProviderRequirement> = {};
  const sources = workspace.requiredProviders(folder);
  for (const { items } of settingsOf(workspace, folder)) {
    for (const item of items) {
      if (item.kind !== "attribute") continue;
      const source = sourceOfProvider(item.name, sources);
      if (source === undefined) continue;
      const constraint = memberOf(item.expression, "version") ?? textOf(item.expression);
      required[source] = {
        display_name: source.replace(/^registry\.terraform\.io\//, ""),
        ...(constraint !== undefined && { version_constraint: constraint }),
      };
    }
  }
  return {
    v: FORMAT,
    provider_requirements: required,
    installed_providers: Object.fromEntries(
      locksOf(workspace, folder).map(({ address, version }) => [
        address.toString(),
        version.toString(),
      ]),
    ),
  };
}

interface CallsWithin {
  /** Folders of the modules that the calls are of, from the first on. */
  readonly around: ReadonlySet<string>;
  /** How many calls the answer may still have. */
  readonly room: { left: number };
}

function callsOf(
  workspace: Workspace,
  folder: string,
  { around, room }: CallsWithin,
): readonly ModuleCall[] {
  return [...workspace.namesOf(folder)].flatMap(([, { body }]) =>
    body.items.flatMap((block) => {
      if (block.kind !== "block" || block.type !== "module") return [];
      const name = block.labels[0]?.value;
      const source = argumentText(block.body.items, "source");
      if (name === undefined || source === undefined || room.left === 0) return [];
      room.left--;
      const version = argumentText(block.body.items, "version");
      const called = workspace.calledFolder(folder, name);
      // Modules that call each other are named once.
      const isNew = called !== undefined && !around.has(called);
      return [
        {
          name,
          source_addr: source,
          ...(version !== undefined && { version }),
          source_type: sourceType(source),
          dependent_modules: isNew
            ? callsOf(workspace, called, { around: new Set([...around, called]), room })
            : [],
        },
      ];
    }),
  );
}

function sourceType(source: string): ModuleCall["source_type"] {
  try {
    const { kind } = parseModuleSource(source);
    return kind === "registry" ? "tfregistry" : kind;
  } catch {
    return "";
  }
}

/** The bodies of `required_providers` of a module. */
function settingsOf(workspace: Workspace, folder: string) {
  return [...workspace.namesOf(folder)].flatMap(([, { body }]) =>
    body.items.flatMap((block) =>
      block.kind === "block" && block.type === "terraform"
        ? block.body.items.flatMap((item) =>
            item.kind === "block" && item.type === "required_providers" ? [item.body] : [],
          )
        : [],
    ),
  );
}

function argumentText(items: readonly BodyItem[], name: string): string | undefined {
  for (const item of items) {
    if (item.kind === "attribute" && item.name === name) return textOf(item.expression);
  }
  return undefined;
}

function memberOf(expression: Expression, name: string): string | undefined {
  if (expression.kind !== "object") return undefined;
  const found = expression.items.find(
    ({ key }) => (key.literal ?? textOf(key.expression)) === name,
  );
  return found && textOf(found.value);
}
