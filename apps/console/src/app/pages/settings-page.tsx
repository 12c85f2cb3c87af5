import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useId, useState } from "react";
import { Dialog } from "../parts/dialog.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Empty, Loaded, ProblemBox } from "../parts/states.tsx";
import { TableScroll } from "../parts/table-scroll.tsx";
import { Time } from "../parts/time.tsx";
import { isAccountAdmin, isSiteAdmin, mayDo, useServer } from "../session/server-context.tsx";
import { applyTheme, readTheme, type Theme } from "../style/theme.ts";

const THEMES: readonly Theme[] = ["system", "light", "dark"];
const ROLES = [
  ["registry:reader", "reads"],
  ["registry:deployer", "plans, approves, applies"],
  ["registry:publisher", "publishes providers"],
  ["registry:admin", "everything in the account"],
  ["worker", "executes runs elsewhere"],
] as const;

interface Credential {
  readonly actor: string;
  readonly roles: readonly string[];
  readonly projects: readonly string[];
  readonly description: string;
  readonly createTimeMs: number;
  readonly expireTimeMs?: number;
  readonly disabled: boolean;
}

/** The session, the appearance, and the credentials of the account. */
export function SettingsPage() {
  const { caller } = useServer();
  return (
    <>
      <PageHead title="Settings" />
      <div className="columns">
        <section className="card" aria-labelledby="session">
          <h2 id="session">Session</h2>
          <dl className="facts-list">
            <div>
              <dt>Account</dt>
              <dd>{caller.account}</dd>
            </div>
            <div>
              <dt>Credential</dt>
              <dd>{caller.actor}</dd>
            </div>
            <div>
              <dt>Roles</dt>
              <dd>{caller.roles.join(", ")}</dd>
            </div>
            <div>
              <dt>Projects</dt>
              <dd>{caller.projects.length === 0 ? "all" : caller.projects.join(", ")}</dd>
            </div>
          </dl>
        </section>
        <Appearance />
        <section className="card" aria-labelledby="sets">
          <h2 id="sets">Variable sets</h2>
          <p>
            <Link to="/settings/variable-sets">Variable sets of the account</Link> give variables to
            stacks of several projects.
          </p>
        </section>
        {isAccountAdmin(caller) && <Accounts />}
      </div>
      {mayDo(caller, "admin") && <Credentials />}
      <p className="quiet">
        The API of this server is described at <a href="/docs">/docs</a>.
        {isAccountAdmin(caller) && (
          <>
            {" "}
            <Link to="/debug/krt">Live view</Link> shows how it derives what these pages follow.
          </>
        )}
      </p>
    </>
  );
}

function Appearance() {
  const [theme, setTheme] = useState(readTheme);
  return (
    <section className="card" aria-labelledby="appearance">
      <h2 id="appearance">Appearance</h2>
      <fieldset className="choices">
        <legend className="hidden">Theme</legend>
        {THEMES.map((name) => (
          <label key={name} className="check">
            <input
              type="radio"
              name="theme"
              checked={theme === name}
              onChange={() => {
                applyTheme(name);
                setTheme(name);
              }}
            />
            {name}
          </label>
        ))}
      </fieldset>
    </section>
  );
}

function Accounts() {
  const { caller } = useServer();
  const isOfSite = isSiteAdmin(caller);
  return (
    <section className="card" aria-labelledby="accounts">
      <h2 id="accounts">{isOfSite ? "Accounts" : "Account"}</h2>
      <p>
        <Link to={`/settings/accounts/${caller.account}`}>The account {caller.account}</Link>: how
        it is called, and what is in it.
      </p>
      {isOfSite && (
        <p>
          <Link to="/settings/accounts">Accounts of the server</Link> are made here, with the token
          of their first administrator, and deleted.
        </p>
      )}
    </section>
  );
}

function Credentials() {
  const { registry, caller } = useServer();
  const [isOpen, setOpen] = useState(false);
  const [revoked, setRevoked] = useState<Credential>();
  const query = useQuery({
    queryKey: ["credentials"],
    queryFn: async ({ signal }) =>
      registry.get<{ readonly credentials: readonly Credential[] }>(
        "/api/v1/registry/credentials",
        signal,
      ),
  });
  return (
    <section aria-labelledby="credentials">
      <div className="section-head">
        <h2 id="credentials">Tokens and access keys</h2>
        <button type="button" onClick={() => setOpen(true)}>
          New token…
        </button>
      </div>
      <Loaded query={query} what="credentials">
        {({ credentials }) =>
          credentials.length === 0 ? (
            <Empty title="There are no tokens and access keys">
              <p>“New token…” makes one for a command or for another program.</p>
            </Empty>
          ) : (
            <TableScroll>
              <table className="list">
                <thead>
                  <tr>
                    <th scope="col">Credential</th>
                    <th scope="col">Roles</th>
                    <th scope="col">Projects</th>
                    <th scope="col">Made</th>
                    <th scope="col">Expires</th>
                    <th scope="col">
                      <span className="hidden">Actions</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {credentials.map((one) => (
                    <tr key={one.actor}>
                      <th scope="row">
                        <code>{one.actor}</code>
                        {one.description !== "" && <div className="quiet">{one.description}</div>}
                      </th>
                      <td className="wide">{one.roles.join(", ")}</td>
                      <td data-label="projects:">
                        {one.projects.length === 0 ? "all" : one.projects.join(", ")}
                      </td>
                      <td data-label="made">
                        <Time at={one.createTimeMs} />
                      </td>
                      <td data-label="ends:">
                        {one.expireTimeMs === undefined ? "never" : <Time at={one.expireTimeMs} />}
                      </td>
                      <td>
                        {one.actor === caller.actor ? (
                          <span className="quiet">this session</span>
                        ) : (
                          <button
                            type="button"
                            aria-label={`Revoke ${one.actor}`}
                            onClick={() => setRevoked(one)}
                          >
                            Revoke…
                          </button>
                        )}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </TableScroll>
          )
        }
      </Loaded>
      {isOpen && <NewTokenDialog onClose={() => setOpen(false)} />}
      {revoked !== undefined && (
        <RevokeDialog credential={revoked} onClose={() => setRevoked(undefined)} />
      )}
    </section>
  );
}

function NewTokenDialog({ onClose }: { readonly onClose: () => void }) {
  const { registry } = useServer();
  const queries = useQueryClient();
  const id = useId();
  const [role, setRole] = useState<string>("registry:reader");
  const [projects, setProjects] = useState("");
  const [description, setDescription] = useState("");
  const [days, setDays] = useState("90");
  const make = useMutation({
    mutationFn: async () =>
      registry.send<{ readonly token: string }>("POST", "/api/v1/registry/tokens", {
        roles: [role],
        projects: projects
          .split(",")
          .map((name) => name.trim())
          .filter(Boolean),
        description,
        ...(days !== "" && { expires_in_days: Number(days) }),
      }),
    onSettled: async () => queries.invalidateQueries({ queryKey: ["credentials"] }),
  });
  const isMade = make.data !== undefined;
  return (
    <Dialog
      title="New token"
      confirm={isMade ? "Done" : "Make the token"}
      canGoBack={!isMade}
      isBusy={make.isPending}
      onConfirm={() => (isMade ? onClose() : make.mutate())}
      onClose={onClose}
      problem={make.error !== null && <ProblemBox error={make.error} />}
    >
      {make.data === undefined ? (
        <>
          <label htmlFor={`${id}-role`}>Role</label>
          <select id={`${id}-role`} value={role} onChange={(event) => setRole(event.target.value)}>
            {ROLES.map(([name, text]) => (
              <option key={name} value={name}>
                {name}: {text}
              </option>
            ))}
          </select>
          <label htmlFor={`${id}-projects`}>Projects, with commas (empty: all)</label>
          <input
            id={`${id}-projects`}
            value={projects}
            onChange={(event) => setProjects(event.target.value)}
          />
          <label htmlFor={`${id}-description`}>What it is for</label>
          <input
            id={`${id}-description`}
            value={description}
            maxLength={256}
            onChange={(event) => setDescription(event.target.value)}
          />
          <label htmlFor={`${id}-days`}>Days until it expires (empty: never)</label>
          <input
            id={`${id}-days`}
            type="number"
            min="1"
            value={days}
            onChange={(event) => setDays(event.target.value)}
          />
        </>
      ) : (
        <>
          <p>The token is shown once. Keep it where secrets are kept.</p>
          <code className="command">{make.data.token}</code>
        </>
      )}
    </Dialog>
  );
}

interface RevokeDialogProps {
  readonly credential: Credential;
  readonly onClose: () => void;
}

function RevokeDialog({ credential, onClose }: RevokeDialogProps) {
  const { registry } = useServer();
  const queries = useQueryClient();
  const revoke = useMutation({
    mutationFn: async () =>
      registry.send(
        "DELETE",
        `/api/v1/registry/credentials/${encodeURIComponent(credential.actor)}`,
      ),
    onSuccess: onClose,
    onSettled: async () => queries.invalidateQueries({ queryKey: ["credentials"] }),
  });
  return (
    <Dialog
      title="Revoke the credential"
      confirm="Revoke"
      tone="danger"
      isBusy={revoke.isPending}
      onConfirm={() => revoke.mutate()}
      onClose={onClose}
      problem={revoke.error !== null && <ProblemBox error={revoke.error} />}
    >
      <p>
        <code>{credential.actor}</code> is refused at once; its open streams end within two seconds.
        This cannot be undone.
      </p>
    </Dialog>
  );
}
