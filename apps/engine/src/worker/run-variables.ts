import type { StackReference, StoredKeys } from "@stackwright/core";
import { type Variable, Variable_Category } from "@stackwright/proto/stackwright";
import { type StorageBackend, tenancyOf } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { projectTenancy } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import {
  effectiveVariables,
  type OwnedVariable,
  type SetOrigin,
} from "../domain/variable-precedence.ts";
import type { ContestedVariable, ExecutionJob } from "../executor/execution-job.ts";
import { projectCipher } from "../queue/project-secrets.ts";
import { storedCipher } from "./stored-cipher.ts";

/** What the names of a stack's variables begin with. */
export function variablePrefix({ stack }: StackReference): string {
  return `stack-${stack}.`;
}

/** Ties an encrypted value to its variable. */
export function variableContext(
  { account, project, stack }: StackReference,
  category: string,
  key: string,
): string {
  return ["variable", account, project, stack, category, key].join("\0");
}

export const CATEGORIES: Readonly<Record<"terraform" | "env", Variable_Category>> = {
  terraform: Variable_Category.CATEGORY_TERRAFORM,
  env: Variable_Category.CATEGORY_ENV,
};

/** The name of a stored category. */
export function categoryOf({ category }: Pick<Variable, "category">): "terraform" | "env" {
  return category === Variable_Category.CATEGORY_ENV ? "env" : "terraform";
}

/** What an encrypted value of a set belongs to. */
export function setVariableSecret(
  { account, project }: Pick<StackReference, "account" | "project">,
  ...path: readonly [set: string, category: string, key: string]
) {
  return { account, project, of: "set variable", path } as const;
}

/** What an encrypted value of a set of an account belongs to. */
export function accountSetSecret(
  { account }: Pick<StackReference, "account">,
  ...path: readonly [set: string, category: string, key: string]
) {
  return { account, of: "account set variable", path } as const;
}

/** The variables of a stack and of the sets that are for it, encrypted as they are stored. */
export async function readEffectiveVariables(
  storage: StorageBackend,
  stack: StackReference,
  stackName: string | undefined,
): Promise<readonly OwnedVariable[]> {
  const tenancy = projectTenancy(stack);
  const { variable, variableSet, accountVariableSet } = SERVER_KINDS;
  const ofAccount = tenancyOf({ kind: "account", account: stack.account });
  const [own, sets, accountSets] = await Promise.all([
    storage.list("strong", variable.type, tenancy, variablePrefix(stack)),
    storage.list("strong", variableSet.type, tenancy, ""),
    storage.list("strong", accountVariableSet.type, ofAccount, ""),
  ]);
  return effectiveVariables(
    { project: stack.project, name: stackName },
    {
      own: own.map((one) => decodeRecord(variable, one)),
      sets: sets.map((one) => decodeRecord(variableSet, one)),
      accountSets: accountSets.map((one) => decodeRecord(accountVariableSet, one)),
    },
  );
}

/** Values that a run was requested with, without those of variables that a set with priority has, which are named. */
export function withoutEnforced(
  values: Readonly<Record<string, string>>,
  enforced: readonly string[],
): Pick<ExecutionJob, "runVariables" | "replacedValues"> {
  const { kept = [], replaced = [] } = Object.groupBy(Object.entries(values), ([key]) =>
    enforced.includes(key) ? "replaced" : "kept",
  );
  return {
    runVariables: Object.fromEntries(kept),
    ...(replaced.length > 0 && { replacedValues: replaced.map(([key]) => key) }),
  };
}

/** The variables of a stack and its sets for an executor, decrypted; of each key the one that wins. */
export async function readRunVariables(
  { storage, keys }: { readonly storage: StorageBackend; readonly keys: StoredKeys },
  stack: StackReference,
  stackName: string | undefined,
): Promise<{
  readonly variables: Readonly<Record<string, string>>;
  readonly environment: Readonly<Record<string, string>>;
  /** Names of the sensitive ones. */
  readonly sensitive: {
    readonly variables: readonly string[];
    readonly environment: readonly string[];
  };
  /** Names of those of the configuration that nothing replaces. */
  readonly enforced: readonly string[];
  /** Those that several sets of one place have. */
  readonly contested: readonly ContestedVariable[];
}> {
  const found = await readEffectiveVariables(storage, stack, stackName);
  const { account, project } = stack;
  const isSealed = (scope: SetOrigin["scope"] | undefined) =>
    found.some(({ from, variable }) => from?.scope === scope && variable.sensitive);
  const cipher = isSealed(undefined) ? await storedCipher(keys, stack) : undefined;
  const openOf = {
    project: isSealed("project")
      ? await projectCipher(keys, { account, project, of: "set variable" })
      : undefined,
    account: isSealed("account")
      ? await projectCipher(keys, { account, of: "account set variable" })
      : undefined,
  };
  const values = found.map(({ variable: { key, value, sensitive, ...rest }, from }) => {
    const category = categoryOf(rest);
    const opened = (): Uint8Array | undefined =>
      from === undefined
        ? cipher?.open(value, variableContext(stack, category, key))
        : openOf[from.scope]?.([from.set, category, key], value);
    const plain = sensitive ? opened() : value;
    // Never its ciphertext.
    if (plain === undefined) throw new ServerError("key_unavailable");
    return { category, key, sensitive, text: Buffer.from(plain).toString("utf8") };
  });
  const of = (wanted: string) =>
    Object.fromEntries(
      values.flatMap(({ category, key, text }) => (category === wanted ? [[key, text]] : [])),
    );
  const hidden = (wanted: string) =>
    values.flatMap(({ category, key, sensitive }) =>
      category === wanted && sensitive ? [key] : [],
    );
  return {
    variables: of("terraform"),
    environment: of("env"),
    sensitive: { variables: hidden("terraform"), environment: hidden("env") },
    enforced: found.flatMap(({ variable, isEnforced }) =>
      isEnforced && categoryOf(variable) === "terraform" ? [variable.key] : [],
    ),
    contested: found.flatMap(({ variable, from, isEnforced, equals }) => {
      if (from === undefined || equals.length === 0) return [];
      const { key } = variable;
      const others = equals.map(({ set }) => set);
      return [{ key, category: categoryOf(variable), ...from, isEnforced, others }];
    }),
  };
}
