import { visibleText } from "@stackwright/plan-view/lines";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { NotFound } from "../../parts/not-found.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Empty, Loaded } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { usePath } from "../../parts/use-address.ts";
import { isAccountAdmin, isSiteAdmin, useServer } from "../../session/server-context.tsx";
import { accountQuery, type SeenAccount } from "./account-query.ts";
import { AccountSettingsDialog } from "./account-settings-dialog.tsx";
import { AccountTokenCard } from "./account-token-card.tsx";
import { DeleteAccountCard } from "./delete-account-card.tsx";
import { DeletingBadge } from "./deleting-badge.tsx";

/** An account: how it is called and what is in it, for its own administrators; its first token and its deletion, for those of the server. */
export function AccountPage() {
  const { account: name = "" } = usePath<"account">();
  const { client, caller } = useServer();
  const isOfSite = isSiteAdmin(caller);
  const isAllowed = isOfSite || (isAccountAdmin(caller) && name === caller.account);
  const query = useQuery({ ...accountQuery(client, name), enabled: isAllowed });
  if (!isAllowed) return <NotFound />;
  return (
    <>
      <PageHead title={name} part="Account">
        <p className="facts">
          {isOfSite ? (
            <Link to="/settings/accounts">Accounts</Link>
          ) : (
            <Link to="/settings">Settings</Link>
          )}
        </p>
      </PageHead>
      <Loaded query={query} what="account">
        {(shown) => <ShownAccount key={name} shown={shown} isOfSite={isOfSite} />}
      </Loaded>
    </>
  );
}

interface ShownAccountProps {
  readonly shown: SeenAccount;
  readonly isOfSite: boolean;
}

function ShownAccount({ shown, isOfSite }: ShownAccountProps) {
  /** As it was shown when its change was begun: a later version was not seen by who changes it. */
  const [changed, setChanged] = useState<SeenAccount>();
  const { account } = shown;
  return (
    <>
      {account.deleting && (
        <p className="note attention">
          A deletion of this account was begun: users and credentials of it may be gone already.{" "}
          {endOf(isOfSite, account.contents.length === 0)}
        </p>
      )}
      <div className="columns">
        <section className="card" aria-labelledby="called">
          <h2 id="called">Settings</h2>
          <dl className="facts-list">
            <Fact name="Name to show">{visibleText(account.display_name)}</Fact>
            <Fact name="What it is for">{visibleText(account.description)}</Fact>
            <Fact name="State">{account.deleting ? <DeletingBadge /> : "in use"}</Fact>
            <Fact name="Made">
              {account.created_at === undefined ? (
                "by its credentials, or what it has"
              ) : (
                <Time at={account.created_at} />
              )}
            </Fact>
            {account.updated_at !== undefined && (
              <Fact name="Changed">
                <Time at={account.updated_at} />
              </Fact>
            )}
          </dl>
          <div className="actions">
            <button type="button" onClick={() => setChanged(shown)}>
              Change…
            </button>
          </div>
        </section>
        <section className="card" aria-labelledby="contents">
          <h2 id="contents">What is in it</h2>
          {account.contents.length === 0 ? (
            <Empty title="Nothing is in this account">
              <p>Its users, teams, roles and credentials are not counted.</p>
            </Empty>
          ) : (
            <dl className="facts-list">
              {account.contents.map(({ what, count }) => (
                <Fact key={what} name={what}>
                  {count.toLocaleString("en")}
                </Fact>
              ))}
            </dl>
          )}
        </section>
        {isOfSite && <AccountTokenCard account={account} />}
        {isOfSite && <DeleteAccountCard shown={shown} />}
      </div>
      {changed !== undefined && (
        <AccountSettingsDialog shown={changed} onClose={() => setChanged(undefined)} />
      )}
    </>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children === "" ? <span className="quiet">nothing yet</span> : children}</dd>
    </div>
  );
}

/** What becomes of a deletion that was begun. */
function endOf(isOfSite: boolean, isEmpty: boolean): string {
  if (!isOfSite) return "Those who administer the server end it.";
  return isEmpty
    ? "“End the deletion…” removes the rest."
    : "“End the deletion…” ends it without deleting the account, as something is left in it.";
}
