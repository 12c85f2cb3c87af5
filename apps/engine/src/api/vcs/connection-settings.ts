import type { VcsConnection } from "@stackwright/proto/stackwright";
import type { Static } from "typebox";
import { ServerError } from "../../domain/server-error.ts";
import type { Transaction } from "../../queue/transaction.ts";
import { type ConnectionKind, STORED_POLICIES } from "../../vcs/connection-kind.ts";
import { sealSecret } from "../../vcs/connection-secrets.ts";
import { repositoryFolder } from "../../vcs/git/repository-path.ts";
import { protocolOf, requirePrivateAddress } from "../../vcs/repository-address.ts";
import type { ConnectionReference } from "../../vcs/vcs-places.ts";
import type { ApiParts } from "../api-parts.ts";
import type { ConnectionChange } from "./connection-view.ts";

export type ConnectionSettings = Static<typeof ConnectionChange>;

/** The APIs that are known by the kind; that of the kind generic is none. */
export const API_URLS: Readonly<Record<ConnectionKind, string | undefined>> = {
  generic: "",
  gitea: undefined,
  github: "https://api.github.com",
};

/** What a request sets; secrets are encrypted for the transaction that writes it. */
export async function connectionChange(
  tx: Transaction,
  { keys, localFolders, hosts }: Pick<ApiParts, "keys" | "localFolders" | "hosts">,
  reference: ConnectionReference,
  { id, kind }: { readonly id: string; readonly kind: ConnectionKind },
  settings: ConnectionSettings,
): Promise<Partial<VcsConnection>> {
  const { repository_url: repositoryUrl, api_url: apiUrl, report_url: reportUrl } = settings;
  if (repositoryUrl !== undefined && protocolOf(repositoryUrl, localFolders) !== "file") {
    hosts.require(new URL(repositoryUrl));
  }
  for (const address of [apiUrl, reportUrl]) {
    if (address !== undefined && address !== "") hosts.require(requirePrivateAddress(address));
  }
  if (kind === "generic" && (apiUrl || settings.repository)) {
    throw new ServerError("unprocessable", "api_url and repository are for gitea and github");
  }
  if (kind !== "generic" && reportUrl) {
    throw new ServerError("unprocessable", "report_url is for the kind generic");
  }
  if (kind === "generic") requireNoUsers(settings);
  const seal = async (member: "token" | "webhook_secret", text: string) =>
    text === "" ? Buffer.alloc(0) : sealSecret(tx, keys, reference, [id, member], text);
  const { token, webhook_secret: secret, stacks, branch, repository } = settings;
  if (stacks !== undefined) requireDistinct(stacks.map(({ stack }) => stack));
  return {
    ...(repositoryUrl !== undefined && { repositoryUrl }),
    ...(apiUrl !== undefined && { apiUrl }),
    ...(reportUrl !== undefined && { reportUrl }),
    ...(repository !== undefined && { repository }),
    ...(branch !== undefined && { branch }),
    ...(settings.apply !== undefined && { apply: STORED_POLICIES[settings.apply] }),
    ...(settings.appliers !== undefined && { appliers: settings.appliers }),
    ...(settings.required_reviews !== undefined && {
      requiredReviews: settings.required_reviews,
    }),
    ...(stacks !== undefined && {
      stacks: stacks.map(({ stack, directory = "", paths = [] }) => ({
        stack,
        directory: repositoryFolder(directory),
        paths,
      })),
    }),
    ...(token !== undefined && { token: await seal("token", token) }),
    ...(secret !== undefined && { webhookSecret: await seal("webhook_secret", secret) }),
  };
}

/** A repository without a Git server has no users: neither reviews, comments nor names of who merged. */
function requireNoUsers({ apply, appliers, required_reviews: reviews }: ConnectionSettings): void {
  const refused =
    apply === "on_comment"
      ? 'apply "on_comment" is for gitea and github: the kind generic has no comments'
      : appliers !== undefined && appliers.length > 0
        ? "appliers is for gitea and github: the kind generic does not say who merges"
        : reviews !== undefined && reviews > 0
          ? "required_reviews is for gitea and github: the kind generic has no reviews"
          : undefined;
  if (refused !== undefined) throw new ServerError("unprocessable", refused);
}

function requireDistinct(names: readonly string[]): void {
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice === undefined) return;
  throw new ServerError("unprocessable", `the stack "${twice}" is named twice`);
}

/** A stored token goes to the addresses that it was given for; a changed one could be anybody's. */
export function requireTokenForAddress(
  { token, repositoryUrl, apiUrl }: VcsConnection,
  change: Partial<VcsConnection>,
): void {
  const moves =
    (change.repositoryUrl ?? repositoryUrl) !== repositoryUrl ||
    (change.apiUrl ?? apiUrl) !== apiUrl;
  if (token.length === 0 || !moves || change.token !== undefined) return;
  throw new ServerError(
    "unprocessable",
    "the stored token is for the addresses of before; give a token with a new repository_url or api_url",
  );
}
