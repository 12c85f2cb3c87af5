import type { RegistryNamespace } from "@stackwright/proto/stackwright";
import { PRIVATE_NAMESPACE } from "@stackwright/provider-source";
import type { BatchOperation, CallOptions } from "@stackwright/storage";
import { NAMESPACE_KIND } from "../domain/kinds.ts";
import type { RequestContext } from "../domain/model.ts";
import { type RecordName, type StoredRecord, writeOperation } from "../domain/record-store.ts";
import { retryCollisions } from "../domain/retry-collisions.ts";
import { checkAccount, SYSTEM_TENANCY } from "../domain/scope.ts";
import { invalidField, RegistryError } from "../errors.ts";
import type { Registry } from "../registry.ts";
import { isNamespaceName } from "./release-name.ts";
import { isReservedNamespace } from "./reserved-namespaces.ts";

/** A namespace of published providers. */
export interface Namespace {
  readonly name: string;
  /** The account that may publish in it. */
  readonly account: string;
  /** Whether it is installed from without a credential; else by its account alone. */
  readonly public: boolean;
  /** The account under which its releases are stored: the one that had it first. */
  readonly releaseAccount: string;
  /** The account that may take it, by the will of its owner. */
  readonly offeredTo: string | undefined;
}

/** A namespace that is asked for. */
export interface NamespaceClaim {
  readonly name: string;
  readonly account: string;
  /** @default as it is; false for one that is claimed for the first time */
  readonly public?: boolean | undefined;
  /** Whether an operator grants it, which allows a reserved name. @default false */
  readonly granted?: boolean | undefined;
}

type StoredNamespace = StoredRecord<RegistryNamespace>;

/** The namespace of this name; `undefined` if no account has it. */
export async function findNamespace(
  registry: Registry,
  name: string,
  options: CallOptions = {},
): Promise<Namespace | undefined> {
  const stored = await readNamespace(registry, name, options);
  return stored && namespaceOf(stored);
}

/** All namespaces, by name. */
export async function listNamespaces(
  registry: Registry,
  options: CallOptions = {},
): Promise<readonly Namespace[]> {
  const found = await registry.parts.records.list(NAMESPACE_KIND, SYSTEM_TENANCY, "", options);
  return found.map(namespaceOf).toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** The record of a namespace; `undefined` also for names that no namespace can have, and no store takes. */
export async function readNamespace(
  registry: Registry,
  name: string,
  options: CallOptions = {},
): Promise<StoredNamespace | undefined> {
  if (!isNamespaceName(name)) return undefined;
  return registry.parts.records.read(namespaceAt(name), options);
}

/**
 * Gives a namespace to an account: one that no account has, or one that was offered to it; or sets whether its own
 * one is public. Throws `REGISTRY_NAMESPACE_TAKEN` when another account has it, `REGISTRY_NAMESPACE_RESERVED` for
 * well-known names that are not granted, `REGISTRY_INVALID_FIELD` for names that no address can have.
 */
export async function claimNamespace(
  registry: Registry,
  { name, account, public: isPublic, granted = false }: NamespaceClaim,
  context: RequestContext,
): Promise<Namespace> {
  checkAccount(account);
  checkNamespaceName(name);
  return changeNamespace(registry, name, context, "namespace.claim", (value) => {
    if (value === undefined) {
      const { reservedNamespaces } = registry.policy;
      if (!granted && isReservedNamespace(name, reservedNamespaces)) {
        throw new RegistryError(
          "REGISTRY_NAMESPACE_RESERVED",
          `the namespace "${name}" is reserved; ask an operator of the registry to grant it to "${account}"`,
          { details: { needed: ["operator"] } },
        );
      }
      const createTimeMs = BigInt(registry.parts.clock.wallMs());
      const rest = { createTimeMs, releaseAccount: "", offeredTo: "" };
      return { namespace: name, account, public: isPublic ?? false, ...rest };
    }
    const accepts = value.offeredTo === account;
    if (value.account !== account && !accepts) throw taken(name);
    const owned = accepts ? handedOver(value, account) : value;
    return { ...owned, public: isPublic ?? value.public };
  });
}

/**
 * Offers a namespace of an account to another one, which claims it to accept; to the account itself: withdraws the
 * offer. An operator transfers at once, and reserved names. Releases stay what and where they are.
 *
 * Throws `REGISTRY_NOT_FOUND` where the account has no such namespace, `REGISTRY_NAMESPACE_RESERVED`.
 *
 * @param owner the account of the caller; `undefined` for operators
 */
export async function transferNamespace(
  registry: Registry,
  {
    name,
    to,
    owner,
  }: { readonly name: string; readonly to: string; readonly owner: string | undefined },
  context: RequestContext,
): Promise<Namespace> {
  checkAccount(to);
  return changeNamespace(registry, name, context, "namespace.transfer", (value) => {
    const own = ownNamespace(value, name, owner);
    if (owner === undefined) return handedOver(own, to);
    if (to === owner) return { ...own, offeredTo: "" };
    if (isReservedNamespace(name, registry.policy.reservedNamespaces)) {
      throw new RegistryError(
        "REGISTRY_NAMESPACE_RESERVED",
        `the namespace "${name}" is reserved; ask an operator of the registry to transfer it`,
        { details: { needed: ["operator"] } },
      );
    }
    return { ...own, offeredTo: to };
  });
}

/** The record of a namespace of the account, or (`undefined`) of any account. Throws `REGISTRY_NOT_FOUND`. */
export function ownNamespace<Value extends Pick<RegistryNamespace, "account">>(
  value: Value | undefined,
  name: string,
  account: string | undefined,
): Value {
  if (value !== undefined && (account === undefined || value.account === account)) return value;
  throw new RegistryError("REGISTRY_NOT_FOUND", `the account has no namespace "${name}"`);
}

/** Keeps the record as it is, in a batch that has to fail when it was changed or deleted meanwhile. */
export function touchNamespace(stored: StoredNamespace): BatchOperation {
  return writeOperation(namespaceAt(stored.value.namespace), stored.value, stored);
}

async function changeNamespace(
  registry: Registry,
  name: string,
  context: RequestContext,
  action: string,
  change: (value: RegistryNamespace | undefined) => RegistryNamespace,
): Promise<Namespace> {
  const { records, audit, clock } = registry.parts;
  const at = namespaceAt(name);
  return retryCollisions(clock, context.signal, async () => {
    const stored = await readNamespace(registry, name);
    const value = change(stored?.value);
    const { account, offeredTo, public: isPublic } = value;
    await records.storage.batch([
      writeOperation(at, value, stored),
      audit.entry(SYSTEM_TENANCY, context, {
        action,
        target: name,
        details: { account, offeredTo, public: String(isPublic) },
      }),
    ]);
    return namespaceOf({ value });
  });
}

function handedOver(value: RegistryNamespace, account: string): RegistryNamespace {
  const first = value.releaseAccount === "" ? value.account : value.releaseAccount;
  return { ...value, account, offeredTo: "", releaseAccount: first === account ? "" : first };
}

function namespaceOf({ value }: Pick<StoredNamespace, "value">): Namespace {
  const { namespace: name, account, public: isPublic, releaseAccount, offeredTo } = value;
  return {
    name,
    account,
    public: isPublic,
    releaseAccount: releaseAccount === "" ? account : releaseAccount,
    offeredTo: offeredTo === "" ? undefined : offeredTo,
  };
}

function checkNamespaceName(name: string): void {
  if (!isNamespaceName(name) || name === PRIVATE_NAMESPACE) {
    throw invalidField(
      "namespace",
      "pattern",
      "a namespace consists of lower-case letters, digits and single dashes, at most 64 characters",
    );
  }
}

function namespaceAt(name: string): RecordName<RegistryNamespace> {
  return { kind: NAMESPACE_KIND, tenancy: SYSTEM_TENANCY, name };
}

function taken(name: string): RegistryError {
  return new RegistryError(
    "REGISTRY_NAMESPACE_TAKEN",
    `the namespace "${name}" belongs to another account`,
  );
}
