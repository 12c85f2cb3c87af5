import { EngineError, isEngineError } from "@stackwright/core/errors";
import { TfpluginError } from "@stackwright/tfplugin";
import type { InstalledProvider } from "@stackwright/tfplugin/install";
import {
  MAX_STANDINGS,
  type ProviderStanding,
  type ProviderVersion,
} from "../domain/registry-query.ts";
import { isServerError } from "../domain/server-error.ts";
import type { ExecutionHost } from "./executor.ts";

/**
 * Refuses providers of which a version was withdrawn, put into quarantine or hidden from the account after it was installed: a package that
 * lies there with its hash in the lock file is used without a question to a registry. To be called before the first of them starts. One question for all of
 * them; where it is not answered, none starts.
 *
 * `ENGINE_PROVIDER_UNAVAILABLE` for one that is refused, `TFPLUGIN_REGISTRY_UNAVAILABLE` (to be tried again) without an answer.
 */
export async function requireUsableProviders(
  installed: Iterable<InstalledProvider>,
  host: Pick<ExecutionHost, "readRegistry">,
  signal: AbortSignal,
): Promise<void> {
  // Where the operator puts another program in place of a provider, that one is of no version.
  const versions = [...installed].flatMap(({ address, version }) =>
    version === undefined ? [] : [{ source: address.toString(), version: version.toString() }],
  );
  await requireUsableVersions(versions, host, signal);
}

/** The same for versions of providers, wherever they are installed. */
export async function requireUsableVersions(
  providers: readonly ProviderVersion[],
  host: Pick<ExecutionHost, "readRegistry">,
  signal: AbortSignal,
): Promise<void> {
  const refused = await refusedVersions(providers, host, signal);
  if (refused.length === 0) return;
  throw new EngineError("ENGINE_PROVIDER_UNAVAILABLE", refused.join("; "));
}

type State = ProviderStanding["state"];

const REFUSED: readonly State[] = ["withdrawn", "quarantined", "hidden"];

/**
 * Why versions of providers are refused, each in a sentence; none where all may be used. Rejects without an answer, as the others do.
 *
 * @param states for which of them a version is refused
 */
export async function refusedVersions(
  providers: readonly ProviderVersion[],
  host: Pick<ExecutionHost, "readRegistry">,
  signal: AbortSignal,
  states: readonly State[] = REFUSED,
): Promise<readonly string[]> {
  const refused: string[] = [];
  for (let at = 0; at < providers.length; at += MAX_STANDINGS) {
    const some = providers.slice(at, at + MAX_STANDINGS);
    const standings = await readStandings(some, host, signal);
    for (const [index, one] of some.entries()) {
      const why = refusal(one, standings[index], states);
      if (why !== undefined) refused.push(why);
    }
  }
  return refused;
}

async function readStandings(
  providers: readonly ProviderVersion[],
  host: Pick<ExecutionHost, "readRegistry">,
  signal: AbortSignal,
): Promise<readonly ProviderStanding[]> {
  try {
    const { standing } = await host.readRegistry({ kind: "standing", providers });
    if (standing?.length === providers.length) return standing;
    throw new TypeError("the server is of another release");
  } catch (error) {
    signal.throwIfAborted();
    // A claim that is lost ends as such.
    if (isEngineError(error) || isServerError(error, "claim_lost")) throw error;
    const names = providers.map(({ source, version }) => `${source} ${version}`).join(", ");
    const why = error instanceof Error ? error.message : String(error);
    const text = `no provider was started: the registry of the server does not say whether ${names} may still be used (${why}); run it again when the server reaches its store`;
    throw new TfpluginError("TFPLUGIN_REGISTRY_UNAVAILABLE", text, { cause: error });
  }
}

function refusal(
  { source, version }: ProviderVersion,
  standing: ProviderStanding | undefined,
  states: readonly State[],
): string | undefined {
  if (standing === undefined || !states.includes(standing.state)) return undefined;
  const { state, sinceMs, reason } = standing;
  if (state === "hidden") {
    return `provider ${source} ${version} is not available to this account: its namespace is a private one of another account; let that account make it public, or require another provider`;
  }
  const since = sinceMs === 0 ? "" : ` since ${new Date(sinceMs).toISOString()}`;
  const what = state === "withdrawn" ? "withdrawn from the registry" : "in quarantine";
  const why = reason === "" ? "" : `: ${reason}`;
  const back =
    state === "withdrawn" ? "publish the same archive again" : "release it from quarantine";
  return `provider ${source} ${version} is ${what}${since}${why}; require another version and update the lock file, or let an administrator ${back}`;
}
