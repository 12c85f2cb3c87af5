import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { callRegistry, registryError } from "../provider-kit/registry-calls.ts";
import { serverAccess } from "../runs/open-server.ts";
import { printable } from "../terminal/printable.ts";

export interface ProviderVersionOptions {
  readonly server?: string;
}

export interface ProviderDeprecateOptions extends ProviderVersionOptions {
  /** What users of the version are shown. */
  readonly reason?: string;
  /** Ends a deprecation. */
  readonly clear: boolean;
}

/** A version of a provider as the user names it. */
interface NamedVersion {
  readonly provider: string;
  readonly version: string;
}

const ADVICES = {
  403: "Ask the server operator for a token with the role publisher.",
  404: "Check the name and the version; one that was withdrawn before is there no longer.",
} as const;
/** What the server takes. */
const MAX_REASON = 500;

/** Offers a version of a published provider no longer. Its number stays that of its archives. */
export async function providerWithdraw(
  named: NamedVersion,
  { server }: ProviderVersionOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const path = publishedPath(named);
  const access = await serverAccess(context, server);
  const answer = await callRegistry(access, { method: "DELETE", path }, context.signal);
  const what = `${named.provider} ${named.version}`;
  if (answer.status !== 204) {
    throw registryError(`${what} was not withdrawn`, answer, access, ADVICES);
  }
  context.terminal.write(
    `Withdrew ${what}. Runs of the server refuse it. The number stays taken; the same archives bring it back.\n`,
  );
  return EXIT.ok;
}

/** Lets commands warn of a version of a published provider, or ends that. */
export async function providerDeprecate(
  named: NamedVersion,
  { server, reason = "", clear }: ProviderDeprecateOptions,
  context: CommandContext,
): Promise<ExitCode> {
  if (clear === (reason !== "")) {
    throw new CommandError("Say why with --reason, or end a deprecation with --clear.");
  }
  if (reason.length > MAX_REASON) {
    throw new CommandError(`The reason has more than ${MAX_REASON} characters.`);
  }
  const path = publishedPath(named);
  const access = await serverAccess(context, server);
  const request = { method: "PATCH", path, json: { deprecation: reason } } as const;
  const answer = await callRegistry(access, request, context.signal);
  const what = `${named.provider} ${named.version}`;
  if (answer.status !== 204) {
    throw registryError(`${what} was not changed`, answer, access, ADVICES);
  }
  context.terminal.write(clear ? `No longer deprecated: ${what}\n` : `Deprecated ${what}\n`);
  return EXIT.ok;
}

/** Deletes a version of a private provider, which is a function: the function itself stays. */
export async function providerDelete(
  { provider, version }: NamedVersion,
  { server }: ProviderVersionOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const name = provider.replace(/^(huawei\.com\/)?private-provider\//, "");
  if (name === "" || name.includes("/")) {
    throw new CommandError(`"${printable(provider)}" does not name a private provider.`, {
      advice:
        "Use its name, such as notes. What was published in a namespace is withdrawn: stackwright provider withdraw NAMESPACE/TYPE VERSION",
    });
  }
  const access = await serverAccess(context, server);
  const path = `/v1/private-providers/${encodeURIComponent(name)}/versions/${encodeURIComponent(version)}`;
  const answer = await callRegistry(access, { method: "DELETE", path }, context.signal);
  const what = `huawei.com/private-provider/${name} ${version}`;
  if (answer.status !== 204) {
    const advices = { ...ADVICES, 404: "Check the name and the version." };
    throw registryError(`${what} was not deleted`, answer, access, advices);
  }
  const { warning } = answer;
  if (warning !== undefined) context.terminal.writeError(`Warning: ${printable(warning)}\n`);
  context.terminal.write(`Deleted ${what}\n`);
  return EXIT.ok;
}

/** The address of a version in a namespace. */
function publishedPath({ provider, version }: NamedVersion): string {
  const [namespace = "", type = "", ...more] = provider.split("/");
  if (namespace === "" || type === "" || more.length > 0 || namespace === "private-provider") {
    throw new CommandError(`"${printable(provider)}" does not name a published provider.`, {
      advice: provider.includes("private-provider/")
        ? "That one is a function: its versions are deleted with stackwright provider delete NAME VERSION"
        : "Use NAMESPACE/TYPE without a host, for example acme/notes.",
    });
  }
  const encoded = [namespace, type, version].map(encodeURIComponent);
  return `/api/v1/registry/providers/${encoded.join("/")}`;
}
