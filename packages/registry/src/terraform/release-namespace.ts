import { WILDCARD } from "@stackwright/storage";
import { PUBLISHED_RELEASE_KIND } from "../domain/kinds.ts";
import type { RequestContext } from "../domain/model.ts";
import { deleteOperation } from "../domain/record-store.ts";
import { retryCollisions } from "../domain/retry-collisions.ts";
import { SYSTEM_TENANCY } from "../domain/scope.ts";
import { RegistryError } from "../errors.ts";
import type { Registry } from "../registry.ts";
import { ownNamespace, readNamespace } from "./namespaces.ts";

/**
 * Releases a namespace in which nothing was ever published, in any region; another account can claim it then. One
 * with releases, withdrawn ones included, can only be transferred: under its next owner the same addresses would
 * lead to other code. A release that is published at the same time makes this one fail.
 *
 * Throws `REGISTRY_NOT_FOUND` where the account has no such namespace, `REGISTRY_NAMESPACE_IN_USE`.
 *
 * @param owner the account of the caller; `undefined` for operators
 */
export async function releaseNamespace(
  registry: Registry,
  { name, owner }: { readonly name: string; readonly owner: string | undefined },
  context: RequestContext,
): Promise<void> {
  const { records, audit, clock } = registry.parts;
  await retryCollisions(clock, context.signal, async () => {
    const stored = await readNamespace(registry, name);
    const { account, releaseAccount } = ownNamespace(stored?.value, name, owner);
    if (stored === undefined) return;
    const partition = releaseAccount === "" ? account : releaseAccount;
    const everywhere = { partition, peerName: "local", namespace: WILDCARD };
    const [release] = await records.list(PUBLISHED_RELEASE_KIND, everywhere, `${name}/`);
    if (release !== undefined) {
      throw new RegistryError(
        "REGISTRY_NAMESPACE_IN_USE",
        `the namespace "${name}" has releases, such as ${release.resource.id.name}; it can be transferred to another account`,
      );
    }
    const { id, version } = stored.resource;
    await records.storage.batch(
      [
        deleteOperation(stored),
        audit.entry(SYSTEM_TENANCY, context, {
          action: "namespace.release",
          target: name,
          details: { account },
        }),
      ],
      { guards: [{ id, version }] },
    );
  });
}
