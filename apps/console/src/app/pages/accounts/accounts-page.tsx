import type { Account } from "@stackwright/client";
import { visibleText } from "@stackwright/plan-view/lines";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { NotFound } from "../../parts/not-found.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Empty, Loaded, NoMatch } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-address.ts";
import { useKept } from "../../parts/use-kept.ts";
import { isSiteAdmin, useServer } from "../../session/server-context.tsx";
import { DeletingBadge } from "./deleting-badge.tsx";
import { NewAccountDialog } from "./new-account-dialog.tsx";

/** Accounts of one read. */
const STEP = 100;
/** Of the filter, as the server has it. */
const MAX_PART = 64;

/** The accounts of the server, for those who administer it. */
export function AccountsPage() {
  const { client, caller } = useServer();
  const isAllowed = isSiteAdmin(caller);
  const [isOpen, setOpen] = useState(false);
  const [text, setText] = useKept("q");
  // What is typed is asked for once it is a part of the address.
  const { q: given = "" } = useFilters<{ q: string }>();
  const q = given.trim().slice(0, MAX_PART);
  const query = useInfiniteQuery({
    queryKey: ["accounts", q],
    queryFn: async ({ pageParam, signal }) =>
      (
        await client.listAccounts(
          { limit: STEP, after: pageParam, ...(q !== "" && { q }) },
          { signal },
        )
      ).data,
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
    placeholderData: keepPreviousData,
    enabled: isAllowed,
  });
  if (!isAllowed) return <NotFound />;
  return (
    <>
      <PageHead title="Accounts">
        <p className="quiet">
          All accounts of this server; each has users, projects and providers of its own
        </p>
      </PageHead>
      <div className="filters" role="search">
        <input
          type="search"
          aria-label="Filter accounts"
          placeholder="Filter by name"
          maxLength={MAX_PART}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button type="button" onClick={() => setOpen(true)}>
          New account…
        </button>
      </div>
      <Loaded query={query} what="accounts">
        {({ pages }) => {
          const accounts = pages.flatMap((page) => page.accounts);
          if (accounts.length === 0) {
            // What there was before says nothing of what is asked for.
            if (query.isPlaceholderData) return null;
            return q === "" ? (
              <Empty title="The server has no accounts" />
            ) : (
              <NoMatch
                title={`No account has “${visibleText(q)}” in its name`}
                clear={() => setText("")}
              />
            );
          }
          return (
            <>
              <AccountTable accounts={accounts} />
              {query.hasNextPage && (
                <button
                  type="button"
                  disabled={query.isFetchingNextPage}
                  onClick={() => void query.fetchNextPage()}
                >
                  More accounts
                </button>
              )}
            </>
          );
        }}
      </Loaded>
      {isOpen && <NewAccountDialog onClose={() => setOpen(false)} />}
    </>
  );
}

function AccountTable({ accounts }: { readonly accounts: readonly Account[] }) {
  const { caller } = useServer();
  return (
    <TableScroll>
      <table className="list" aria-label="Accounts">
        <thead>
          <tr>
            <th scope="col">Account</th>
            <th scope="col">Called</th>
            <th scope="col">Made</th>
          </tr>
        </thead>
        <tbody>
          {accounts.map(({ name, description, deleting, ...account }) => (
            <tr key={name}>
              <th scope="row">
                <Link to={`/settings/accounts/${name}`}>{name}</Link>{" "}
                {name === caller.account && <span className="badge quiet">yours</span>}
                {deleting && <DeletingBadge />}
                {description !== "" && <div className="quiet">{visibleText(description)}</div>}
              </th>
              <td className="wide">{visibleText(account.display_name)}</td>
              <td data-label="made:">
                {account.created_at === undefined ? (
                  <span className="quiet">by its credentials</span>
                ) : (
                  <Time at={account.created_at} />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
}
