import type { ServerClient } from "@stackwright/client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useId, useState } from "react";
import { Dialog } from "../parts/dialog.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Empty, Loaded, ProblemBox } from "../parts/states.tsx";
import { TableScroll } from "../parts/table-scroll.tsx";
import { Time } from "../parts/time.tsx";
import { useServer } from "../session/server-context.tsx";
import { InviteDialog } from "./access/invite-dialog.tsx";
import { UserRightsDialog } from "./access/user-rights-dialog.tsx";
import { USER_ROLE_NAMES } from "./access/user-role-names.ts";

/** Users, teams, the roles that they have, and the browsers in which users are signed in. */
export function AccessPage() {
  return (
    <>
      <PageHead title="Access" />
      <Users />
      <Teams />
      <Roles />
      <Sessions />
    </>
  );
}

function Users() {
  const { client } = useServer();
  const [shown, setShown] = useState<string>();
  const [isInviting, setInviting] = useState(false);
  const change = useChange("users");
  const query = useQuery({
    queryKey: ["users"],
    queryFn: async ({ signal }) => (await client.listUsers({}, { signal })).data.users,
  });
  return (
    <Section
      id="users"
      title="Users"
      action="New service account"
      fields={["Name"]}
      onSubmit={async ([name = ""]) => client.createUser({ body: { name, service: true } })}
      more={
        <button type="button" className="primary" onClick={() => setInviting(true)}>
          Invite a user…
        </button>
      }
    >
      <Loaded query={query} what="users">
        {(users) => (
          <List
            heads={["Name", "Kind", "Groups", "Signed in", ""]}
            problem={change.error}
            empty={
              <Empty title="There are no users">
                <p>They appear when they are invited, or sign in for the first time.</p>
              </Empty>
            }
          >
            {users.map((user) => (
              <tr key={user.name}>
                <th scope="row">
                  {user.name}
                  <div className="quiet">{user.display_name || user.email}</div>
                </th>
                <td>{user.service ? "service account" : "user"}</td>
                <td className="wide">{user.groups.join(", ")}</td>
                <td>
                  {user.signed_in_at === undefined ? "never" : <Time at={user.signed_in_at} />}
                </td>
                <td>
                  <span className="inline">
                    <button
                      type="button"
                      aria-label={`Rights of ${user.name}`}
                      onClick={() => setShown(user.name)}
                    >
                      Rights
                    </button>
                    <button
                      type="button"
                      aria-label={`${user.disabled ? "Enable" : "Disable"} ${user.name}`}
                      onClick={() =>
                        change.mutate(async (server) =>
                          server.changeUser({
                            user: user.name,
                            body: { disabled: !user.disabled },
                          }),
                        )
                      }
                    >
                      {user.disabled ? "Enable" : "Disable"}
                    </button>
                  </span>
                </td>
              </tr>
            ))}
          </List>
        )}
      </Loaded>
      {isInviting && <InviteDialog onClose={() => setInviting(false)} />}
      {shown !== undefined && <UserRightsDialog user={shown} onClose={() => setShown(undefined)} />}
    </Section>
  );
}

function Teams() {
  const { client } = useServer();
  const change = useChange("teams");
  const removal = useChange("teams");
  const query = useQuery({
    queryKey: ["teams"],
    queryFn: async ({ signal }) => (await client.listTeams({}, { signal })).data.teams,
  });
  return (
    <>
      <Section
        id="teams"
        title="Teams"
        action="New team"
        fields={["Name", "Group of the identity provider (may be empty)"]}
        onSubmit={async ([name = "", group = ""]) =>
          client.createTeam({ body: { name, groups: group === "" ? [] : [group] } })
        }
      >
        <Loaded query={query} what="teams">
          {(teams) => (
            <List
              heads={["Name", "Members", "Groups", ""]}
              problem={change.error}
              empty={
                <Empty title="There are no teams">
                  <p>
                    A team gives its members its roles; a group of an identity provider may be one.
                  </p>
                </Empty>
              }
            >
              {teams.map((team) => (
                <tr key={team.name}>
                  <th scope="row">{team.name}</th>
                  <td>{team.members.length}</td>
                  <td>{team.groups.join(", ")}</td>
                  <td>
                    <button
                      type="button"
                      aria-label={`Delete ${team.name}`}
                      onClick={() =>
                        change.mutate(async (server) => server.deleteTeam({ team: team.name }))
                      }
                    >
                      Delete
                    </button>
                  </td>
                </tr>
              ))}
            </List>
          )}
        </Loaded>
      </Section>
      <Section
        id="members"
        title="Members"
        action="Add a member"
        fields={["Team", "User"]}
        onSubmit={async ([team = "", user = ""]) => client.addTeamMember({ team, user })}
      >
        <Loaded query={query} what="members">
          {(teams) => (
            <List
              heads={["Team", "User", ""]}
              problem={removal.error}
              empty={
                <Empty title="No team has members">
                  <p>Users who are added to a team have its roles.</p>
                </Empty>
              }
            >
              {teams.flatMap(({ name, members }) =>
                members.map((user) => (
                  <tr key={`${name} ${user}`}>
                    <th scope="row">{name}</th>
                    <td>{user}</td>
                    <td>
                      <button
                        type="button"
                        aria-label={`Remove ${user} from ${name}`}
                        onClick={() =>
                          removal.mutate(async (server) =>
                            server.removeTeamMember({ team: name, user }),
                          )
                        }
                      >
                        Remove
                      </button>
                    </td>
                  </tr>
                )),
              )}
            </List>
          )}
        </Loaded>
      </Section>
    </>
  );
}

function Roles() {
  const { client } = useServer();
  const change = useChange("roles");
  const query = useQuery({
    queryKey: ["roles"],
    queryFn: async ({ signal }) => (await client.listRoles({}, { signal })).data.roles,
  });
  const give = async ([who = "", name = "", project = ""]: readonly string[]) => {
    const role = USER_ROLE_NAMES.find((one) => one === name) ?? "viewer";
    const isTeam = who.startsWith("team ");
    const subject = isTeam ? who.slice("team ".length) : who;
    const at = { kind: isTeam ? ("team" as const) : ("user" as const), subject, body: { role } };
    return project === "" ? client.giveRole(at) : client.giveProjectRole({ ...at, project });
  };
  return (
    <Section
      id="roles"
      title="Roles"
      action="Give a role"
      fields={["User, or: team NAME", "Role", "Project (empty: the account)"]}
      choices={{ Role: USER_ROLE_NAMES }}
      onSubmit={give}
    >
      <Loaded query={query} what="roles">
        {(roles) => (
          <List
            heads={["Who", "Role", "Where", ""]}
            problem={change.error}
            empty={
              <Empty title="No user and no team has a role">
                <p>Tokens have roles of their own: this list is of users and teams.</p>
              </Empty>
            }
          >
            {roles.map(({ kind, subject, project, role }) => (
              <tr key={`${kind} ${subject} ${project}`}>
                <th scope="row">
                  {kind} {subject}
                </th>
                <td>{role}</td>
                <td>{project ?? "the account"}</td>
                <td>
                  <button
                    type="button"
                    aria-label={`Take away ${role} of ${subject}`}
                    onClick={() =>
                      change.mutate(async (server) =>
                        project === undefined
                          ? server.takeRole({ kind, subject })
                          : server.takeProjectRole({ kind, subject, project }),
                      )
                    }
                  >
                    Take away
                  </button>
                </td>
              </tr>
            ))}
          </List>
        )}
      </Loaded>
    </Section>
  );
}

function Sessions() {
  const { client } = useServer();
  const change = useChange("sessions");
  const query = useQuery({
    queryKey: ["sessions"],
    queryFn: async ({ signal }) => (await client.listSessions({}, { signal })).data.sessions,
  });
  return (
    <section aria-labelledby="sessions">
      <h2 id="sessions">Login sessions</h2>
      <Loaded query={query} what="sessions">
        {(sessions) => (
          <List
            heads={["User", "Browser", "From", "Used", ""]}
            problem={change.error}
            empty={
              <Empty title="No user has signed in with an identity provider">
                <p>Browsers with a token have no session on the server.</p>
              </Empty>
            }
          >
            {sessions.map((one) => (
              <tr key={one.id}>
                <th scope="row">{one.user}</th>
                <td className="wide">{one.browser}</td>
                <td>{one.remote_address}</td>
                <td>
                  <Time at={one.used_at} />
                </td>
                <td>
                  <button
                    type="button"
                    aria-label={`End ${one.id}`}
                    onClick={() =>
                      change.mutate(async (server) => server.endSession({ session: one.id }))
                    }
                  >
                    End
                  </button>
                </td>
              </tr>
            ))}
          </List>
        )}
      </Loaded>
    </section>
  );
}

/** Changes something, and reads the list again that shows it. */
function useChange(key: string) {
  const { client } = useServer();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (change: (client: ServerClient) => Promise<unknown>) => change(client),
    onSettled: async () => queries.invalidateQueries({ queryKey: [key] }),
  });
}

function List({
  heads,
  problem,
  empty,
  children,
}: {
  readonly heads: readonly string[];
  readonly problem: unknown;
  /** In place of a list without rows. */
  readonly empty: ReactNode;
  readonly children: readonly ReactNode[];
}) {
  return (
    <>
      {problem !== null && <ProblemBox error={problem} />}
      {children.length === 0 ? (
        empty
      ) : (
        <TableScroll>
          <table className="list">
            <thead>
              <tr>
                {heads.map((head) => (
                  <th key={head} scope="col">
                    {head === "" ? <span className="hidden">Actions</span> : head}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>{children}</tbody>
          </table>
        </TableScroll>
      )}
    </>
  );
}

interface SectionProps {
  readonly id: string;
  readonly title: string;
  readonly action: string;
  readonly fields: readonly string[];
  readonly choices?: Readonly<Record<string, readonly string[]>>;
  readonly onSubmit: (values: readonly string[]) => Promise<unknown>;
  /** Further buttons. */
  readonly more?: ReactNode;
  readonly children?: ReactNode;
}

/** A list with a button that asks for what a new member of it consists of. */
function Section(props: SectionProps) {
  const { id, title, action, fields, choices = {}, onSubmit, more, children } = props;
  const queries = useQueryClient();
  const name = useId();
  const [values, setValues] = useState<readonly string[]>();
  const submit = useMutation({
    mutationFn: async (given: readonly string[]) => onSubmit(given),
    onSuccess: () => setValues(undefined),
    onSettled: async () => queries.invalidateQueries(),
  });
  const set = (at: number, value: string): void =>
    setValues((former) => former?.map((one, index) => (index === at ? value : one)));
  const open = (): void => {
    submit.reset();
    setValues(fields.map((field) => choices[field]?.[0] ?? ""));
  };
  return (
    <section aria-labelledby={id}>
      <div className="section-head">
        <h2 id={id}>{title}</h2>
        <span className="inline">
          {more}
          <button type="button" onClick={open}>
            {action}…
          </button>
        </span>
      </div>
      {children}
      {values !== undefined && (
        <Dialog
          title={action}
          confirm={action}
          isBusy={submit.isPending}
          onConfirm={() => submit.mutate(values)}
          onClose={() => setValues(undefined)}
          problem={submit.error !== null && <ProblemBox error={submit.error} />}
        >
          {fields.map((field, at) => {
            const common = { id: `${name}-${at}`, value: values[at] ?? "" };
            const options = choices[field];
            return (
              <div key={field}>
                <label htmlFor={common.id}>{field}</label>
                {options === undefined ? (
                  <input {...common} onChange={(event) => set(at, event.target.value)} />
                ) : (
                  <select {...common} onChange={(event) => set(at, event.target.value)}>
                    {options.map((option) => (
                      <option key={option}>{option}</option>
                    ))}
                  </select>
                )}
              </div>
            );
          })}
        </Dialog>
      )}
    </section>
  );
}
