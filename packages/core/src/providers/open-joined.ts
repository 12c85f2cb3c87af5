import { createMux, MuxError } from "@stackwright/mux";
import { adaptPulumiProvider } from "@stackwright/mux/adapters";
import {
  type JoinedLifecycleProvider,
  joinLifecycleProviders,
  type LifecycleProvider,
  type NamedLifecycleProvider,
  type ProviderMemberKind,
} from "@stackwright/mux/router";
import { typeNameOfToken } from "@stackwright/provider-source";
import { EngineError } from "../errors.ts";
import type {
  OpenedProvider,
  OpenedPulumiProgram,
  OpenProviderOptions,
  ProviderOrigin,
  ProviderPrograms,
} from "./catalog.ts";
import { JOINED_PROVIDERS_FILE, type JoinedProgram, type JoinedProvider } from "./joined-file.ts";
import { unavailableProgram } from "./unavailable-program.ts";

/** A program with the origin that starts it and the version that it has. */
export interface SelectedProgram extends JoinedProgram {
  readonly origin: ProviderOrigin;
  readonly version: string;
}

/** A member of the joined provider: one program, or several of Pulumi's protocol behind one mux. */
interface Member extends NamedLifecycleProvider {
  readonly programOf: (kind: ProviderMemberKind, name: string) => string;
  readonly check: (signal?: AbortSignal) => Promise<void>;
}

/**
 * Starts the programs of a provider and joins them; what was started ends where one of them cannot be. Its own file, since it needs
 * the whole mux, which is loaded where a provider is made of several programs.
 */
export async function openJoined(
  source: string,
  entry: JoinedProvider,
  programs: readonly SelectedProgram[],
  how: OpenProviderOptions,
): Promise<OpenedProvider> {
  const members = await openMembers(source, entry, programs, how);
  const joined = joinLifecycleProviders(members, {
    ...entry,
    owners: ownersAmong(members, entry, programs),
    configuration: "united",
  });
  try {
    return {
      name: source,
      provider: joined,
      programs: await programsOf(source, joined, members, how),
      check: async (signal) => {
        await Promise.all(members.map(async ({ check }) => check(signal)));
      },
    };
  } catch (error) {
    await joined.close().catch(() => undefined);
    throw error;
  }
}

/** Programs that stand side by side and can be in one mux are together; the order stays. */
function groupsOf(programs: readonly SelectedProgram[]): readonly (readonly SelectedProgram[])[] {
  const groups: SelectedProgram[][] = [];
  for (const program of programs) {
    const last = groups.at(-1);
    const mayJoin = program.origin.openPulumi !== undefined;
    if (mayJoin && last?.[0]?.origin.openPulumi !== undefined) last.push(program);
    else groups.push([program]);
  }
  return groups;
}

async function openMembers(
  source: string,
  entry: JoinedProvider,
  programs: readonly SelectedProgram[],
  how: OpenProviderOptions,
): Promise<readonly Member[]> {
  const members: Member[] = [];
  try {
    for (const group of groupsOf(programs)) {
      const [only, second] = group;
      if (only === undefined) continue;
      members.push(
        second === undefined
          ? await openProgram(source, only, how)
          : await openMux(source, entry, group, how),
      );
    }
    return members;
  } catch (error) {
    await Promise.allSettled(members.map(async ({ provider }) => provider.close()));
    throw error;
  }
}

async function openProgram(
  source: string,
  { name, address, version, origin, parameters }: SelectedProgram,
  how: OpenProviderOptions,
): Promise<Member> {
  try {
    const reference = { source: address.toString(), version, alias: "" };
    const [only] = await origin.open(reference, { ...how, parameters });
    const { provider, check } = only;
    return { name, provider, programOf: () => name, check: async (signal) => check?.(signal) };
  } catch (error) {
    how.signal?.throwIfAborted();
    throw unavailableProgram(source, name, error);
  }
}

async function openMux(
  source: string,
  { conflicts, owners }: JoinedProvider,
  programs: readonly SelectedProgram[],
  how: OpenProviderOptions,
): Promise<Member> {
  const started = new Map<string, OpenedPulumiProgram>();
  const close = async (): Promise<void> => {
    await Promise.all([...started.values()].map(async (program) => program.close()));
  };
  try {
    for (const { name, address, version, origin, parameters } of programs) {
      try {
        const reference = { source: address.toString(), version, alias: "" };
        const opened = await origin.openPulumi?.(reference, { ...how, parameters });
        if (opened !== undefined) started.set(name, opened);
      } catch (error) {
        how.signal?.throwIfAborted();
        throw unavailableProgram(source, name, error);
      }
    }
    const mux = await createMux({
      package: source,
      servers: [...started].map(([name, { provider }]) => ({ name, connect: () => provider })),
      merge: {
        tokens: conflicts,
        types: conflicts,
        owners: (token) => owners.get(typeNameOfToken(token)),
      },
    });
    const provider: LifecycleProvider = adaptPulumiProvider(mux, {
      close: async () => {
        await mux.close();
        await close();
      },
    });
    const tokens = (await provider.schema({ ...(how.signal && { signal: how.signal }) })).schema
      .tokens;
    const names = {
      resources: namesOf(tokens?.resources, mux.dispatchTable.resources, [...started.keys()]),
      dataSources: namesOf(tokens?.dataSources, mux.dispatchTable.functions, [...started.keys()]),
    };
    const name = programs.map((program) => program.name).join("+");
    return {
      name,
      provider,
      programOf: (kind, type) =>
        (kind === "resources" || kind === "dataSources" ? names[kind].get(type) : undefined) ??
        name,
      check: async (signal) => {
        await Promise.all([...started.values()].map(async ({ check }) => check?.(signal)));
      },
    };
  } catch (error) {
    await close().catch(() => undefined);
    how.signal?.throwIfAborted();
    if (!(error instanceof MuxError)) throw error;
    throw new EngineError(
      "ENGINE_PROVIDER_UNAVAILABLE",
      `${source} cannot be made of its programs: ${error.message}. ${adviceOf(error.code === "MUX_SCHEMA_CONFLICT")}`,
      { cause: error },
    );
  }
}

/** Names of types with the server that has their token. */
function namesOf(
  names: ReadonlyMap<string, string> = new Map(),
  table: ReadonlyMap<string, number>,
  servers: readonly string[],
): ReadonlyMap<string, string> {
  return new Map(
    [...names].flatMap(([token, name]) => {
      const server = servers[table.get(token) ?? -1];
      return server === undefined ? [] : [[name, server] as const];
    }),
  );
}

/** The members in which the chosen programs are. */
function ownersAmong(
  members: readonly Member[],
  { owners }: JoinedProvider,
  programs: readonly SelectedProgram[],
): ReadonlyMap<string, string> {
  const memberOf = new Map<string, string>();
  for (const [index, group] of groupsOf(programs).entries()) {
    for (const { name } of group) memberOf.set(name, members[index]?.name ?? name);
  }
  return new Map([...owners].map(([type, program]) => [type, memberOf.get(program) ?? program]));
}

/** Which program serves what; the problems of the combination as one error. */
async function programsOf(
  source: string,
  joined: JoinedLifecycleProvider,
  members: readonly Member[],
  { signal }: OpenProviderOptions,
): Promise<ProviderPrograms> {
  const context = { ...(signal && { signal }) };
  const { diagnostics } = await joined.schema(context);
  const problems = diagnostics.filter(({ severity }) => severity === "error");
  if (problems.length > 0) {
    const texts = problems.map(({ detail, summary }) => (detail === "" ? summary : detail));
    const shown = texts.slice(0, 10).map((text) => `\n- ${text}`);
    const more = texts.length > shown.length ? `\n- and ${texts.length - shown.length} more` : "";
    throw new EngineError(
      "ENGINE_PROVIDER_UNAVAILABLE",
      `${source} cannot be made of its programs:${shown.join("")}${more}\n${adviceOf(texts.some((text) => text.startsWith("Duplicate")))}`,
    );
  }
  const owners = await joined.owners(context);
  const memberOf = new Map(members.map((member) => [member.name, member]));
  const table = (kind: ProviderMemberKind): ReadonlyMap<string, string> =>
    new Map(
      [...owners[kind]].map(([name, owner]) => [
        name,
        memberOf.get(owner)?.programOf(kind, name) ?? owner,
      ]),
    );
  return {
    resources: table("resources"),
    dataSources: table("dataSources"),
    ephemeralResources: table("ephemeralResources"),
    functions: table("functions"),
  };
}

function adviceOf(isConflict: boolean): string {
  return isConflict
    ? `Name the program that serves a type under "owners" in ${JOINED_PROVIDERS_FILE}, or set "conflicts" to "first" or "last".`
    : `Change the entry in ${JOINED_PROVIDERS_FILE}.`;
}
