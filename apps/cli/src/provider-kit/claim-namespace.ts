import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import type { ServerAccess } from "../runs/open-server.ts";
import { callRegistry, registryError } from "./registry-calls.ts";

const NAMESPACES = "/api/v1/registry/namespaces";

/**
 * Claims the namespace of a provider where it is not the account's yet, after the user agreed: other accounts cannot publish in it from
 * then on. A publisher who is no admin does not see namespaces, and publishes in one that is claimed already.
 */
export async function claimNamespace(
  namespace: string,
  agreed: boolean,
  access: ServerAccess,
  { terminal, signal }: CommandContext,
): Promise<void> {
  const answer = await callRegistry(access, { method: "GET", path: NAMESPACES }, signal);
  if (answer.status === 403) return;
  if (answer.status !== 200) {
    throw registryError(`The namespace "${namespace}" cannot be used`, answer, access);
  }
  const known = Array.isArray(answer.body["namespaces"]) ? answer.body["namespaces"] : [];
  // One that is offered to the account is accepted by claiming it.
  if (known.some((one) => isNamed(one, namespace) && one.offered_to === null)) return;
  if (!agreed) {
    const question = `The namespace "${namespace}" does not belong to your account yet. Enter "yes" to claim it on ${access.server}: `;
    const given = terminal.mayAsk ? await terminal.ask(question, { signal }) : undefined;
    if (given?.trim() !== "yes") {
      throw new CommandError(
        `The namespace "${namespace}" does not belong to your account yet; nothing was published.`,
        {
          advice:
            "Add --claim to claim it: other accounts cannot publish in it then. Or have an admin of your account claim it.",
        },
      );
    }
  }
  const path = `${NAMESPACES}/${encodeURIComponent(namespace)}`;
  const claim = await callRegistry(access, { method: "PUT", path, json: {} }, signal);
  if (claim.status !== 200) {
    throw registryError(`The namespace "${namespace}" cannot be used`, claim, access);
  }
  terminal.write(`Claimed the namespace "${namespace}".\n`);
}

function isNamed(
  one: unknown,
  name: string,
): one is { readonly name: string; readonly offered_to?: unknown } {
  return typeof one === "object" && one !== null && "name" in one && one.name === name;
}
