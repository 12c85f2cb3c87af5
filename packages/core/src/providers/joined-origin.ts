import { EngineError } from "../errors.ts";
import type { OpenedProviders, OpenProviderOptions, ProviderOrigin } from "./catalog.ts";
import { JOINED_PROVIDERS_FILE, type JoinedProvider } from "./joined-file.ts";
import type { SelectedProgram } from "./open-joined.ts";
import { unavailableProgram } from "./unavailable-program.ts";

export interface JoinedOriginOptions {
  /** What each source is made of. */
  readonly providers: ReadonlyMap<string, JoinedProvider>;
  /** Where the programs come from, in the order in which they are asked. */
  readonly origins: readonly ProviderOrigin[];
}

/**
 * Providers that are made of several programs. Programs of Pulumi's protocol and that of 2017 which stand side by side are one mux;
 * it and all other programs are then joined as what the engine calls, so that nothing of Terraform's protocol is lost. Every
 * type, data source, ephemeral resource and function has one program; the configuration has the arguments of all.
 *
 * `ENGINE_PROVIDER_UNAVAILABLE` names the program that is not available, and all names that several programs have where nothing
 * says which of them serves it.
 */
export function joinedOrigin({ providers, origins }: JoinedOriginOptions): ProviderOrigin {
  const entryOf = (source: string): JoinedProvider => {
    const entry = providers.get(source);
    if (entry === undefined) throw new TypeError(`${source} is not made of several programs`);
    return entry;
  };
  const select = async (
    source: string,
    how: OpenProviderOptions,
  ): Promise<readonly SelectedProgram[]> =>
    Promise.all(
      entryOf(source).programs.map(async (program) => {
        const { address, constraints } = program;
        const origin = origins.find((candidate) => candidate.handles(address));
        if (origin === undefined) {
          const why = `there is no provider ${address.toString()} here: it is neither built in nor installed`;
          throw unavailableProgram(source, program.name, new Error(why));
        }
        try {
          return {
            ...program,
            origin,
            version: await origin.select({ address, constraints }, how),
          };
        } catch (error) {
          how.signal?.throwIfAborted();
          throw unavailableProgram(source, program.name, error);
        }
      }),
    );
  const identify = async (
    source: string,
    programs: readonly SelectedProgram[],
    how: OpenProviderOptions,
  ): Promise<string> => {
    const { conflicts, owners } = entryOf(source);
    const parts = await Promise.all(
      programs.map(async ({ name, address, version, origin, parameters }) => {
        const reference = { source: address.toString(), version, alias: "" };
        const identity = await origin.identify?.(reference, how);
        return [name, reference.source, version, identity, ...(parameters ? [parameters] : [])];
      }),
    );
    return JSON.stringify([
      parts,
      conflicts,
      [...owners].map((pair) => pair.join(" ")).toSorted(byText),
    ]);
  };
  return {
    name: "joined programs",
    handles: (source) => providers.has(source.toString()),
    async select({ address, constraints }, how = {}): Promise<string> {
      const source = address.toString();
      if (constraints.items.length > 0) {
        throw new EngineError(
          "ENGINE_PROVIDER_UNAVAILABLE",
          `${source} is made of several programs and has no version of its own, so none matches "${constraints.toString()}". ` +
            `Constrain the programs in ${JOINED_PROVIDERS_FILE} instead.`,
        );
      }
      await select(source, how);
      return "";
    },
    identify: async ({ source }, how = {}) => identify(source, await select(source, how), how),
    async open({ source }, how = {}): Promise<OpenedProviders> {
      const programs = await select(source, how);
      const identity = await identify(source, programs, how);
      const { openJoined } = await import("./open-joined.ts");
      return [{ ...(await openJoined(source, entryOf(source), programs, how)), identity }];
    },
  };
}

function byText(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}
