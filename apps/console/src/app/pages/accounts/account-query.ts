import { ClientError, type Operations, type ServerClient } from "@stackwright/client";
import { queryOptions } from "@tanstack/react-query";

/** An account as it was read, with the version that a change has to name; none: nothing is stored of it but its credentials, or what it has. */
export interface SeenAccount {
  readonly account: Operations["ShowAccount"]["output"];
  readonly etag: string | undefined;
}

export function accountQuery(client: ServerClient, account: string) {
  return queryOptions({
    queryKey: ["account", account],
    queryFn: async ({ signal }): Promise<SeenAccount> => {
      const { data, etag } = await client.showAccount({ account }, { signal });
      return { account: data, etag };
    },
  });
}

/** The version that a change of an account names; `changed` where it has one now that was not shown. */
export async function versionOf(client: ServerClient, { account, etag }: SeenAccount) {
  if (etag !== undefined) return etag;
  // The star, which names what has no version, would name one of others as well.
  const now = await client.showAccount({ account: account.name });
  if (now.etag === undefined) return "*";
  throw new ClientError("changed", "the account was changed since it was read", { status: 412 });
}
