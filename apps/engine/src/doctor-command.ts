import { findingView } from "./api/doctor/finding-view.ts";
import { examineStore } from "./doctor/examine-store.ts";
import { parseServeArguments } from "./serve-arguments.ts";

/**
 * The command `doctor` on a store: the options of a server, of which the store and its key matter. Gives what `GET /api/v1/doctor` answers,
 * with the account of each finding.
 */
export async function runStoreDoctor(
  given: readonly string[],
  env: NodeJS.ProcessEnv,
  directory: string,
  { account, signal }: { readonly account: string | undefined; readonly signal: AbortSignal },
) {
  const options = await parseServeArguments(given, env, directory);
  const checkedAt = new Date().toISOString();
  const { accounts, withoutKeys } = await examineStore(options, {
    env,
    directory,
    account,
    signal,
  });
  const findings = accounts.flatMap(({ account: owner, findings: found }) =>
    found.map((one) => ({ account: owner, ...findingView(one) })),
  );
  return { checked_at: checkedAt, findings, total: findings.length, withoutKeys };
}
