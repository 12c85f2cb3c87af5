import type { StackReference, StoredKeys } from "@stackwright/core";
import { type Variable, Variable_Category } from "@stackwright/proto/stackwright";
import type { StorageBackend } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { projectTenancy } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";

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

/** The variables of a stack for its executor, decrypted. */
export async function readRunVariables(
  { storage, keys }: { readonly storage: StorageBackend; readonly keys: StoredKeys },
  stack: StackReference,
): Promise<{
  readonly variables: Readonly<Record<string, string>>;
  readonly environment: Readonly<Record<string, string>>;
  /** Names of the sensitive ones. */
  readonly sensitive: {
    readonly variables: readonly string[];
    readonly environment: readonly string[];
  };
}> {
  const { type } = SERVER_KINDS.variable;
  const found = await storage.list("strong", type, projectTenancy(stack), variablePrefix(stack));
  const cipher = await keys.ensure(stack);
  const values = found.map((resource) => {
    const { key, value, sensitive, ...rest } = decodeRecord(SERVER_KINDS.variable, resource);
    const category = categoryOf(rest);
    const plain = sensitive ? cipher.open(value, variableContext(stack, category, key)) : value;
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
  };
}
