import { useQuery } from "@tanstack/react-query";
import { Dialog } from "../../parts/dialog.tsx";
import { Loaded } from "../../parts/states.tsx";
import { useServer } from "../../session/server-context.tsx";

/** What a role lets somebody do, in words; each has those before it. */
const ROLES: Readonly<Record<string, string>> = {
  viewer: "sees stacks, runs, plans and outputs without secrets",
  planner: "requests plans that nothing applies",
  operator: "requests, approves and cancels runs; sets variables",
  publisher: "publishes providers and modules",
  admin: "makes stacks, changes rules, tools and roles",
};

interface UserRightsDialogProps {
  readonly user: string;
  readonly onClose: () => void;
}

/** What a user will see and may do, by all of its roles and teams. */
export function UserRightsDialog({ user, onClose }: UserRightsDialogProps) {
  return (
    <Dialog
      title={`What ${user} may do`}
      confirm="Done"
      canGoBack={false}
      onConfirm={onClose}
      onClose={onClose}
    >
      <UserRights user={user} />
    </Dialog>
  );
}

export function UserRights({ user }: { readonly user: string }) {
  const { client } = useServer();
  const query = useQuery({
    queryKey: ["rights", user],
    queryFn: async ({ signal }) => (await client.showUserRights({ user }, { signal })).data,
    staleTime: 0,
  });
  return (
    <Loaded query={query} what="rights">
      {({ disabled, teams, roles, projects }) => (
        <>
          {disabled && <p className="note attention">The user is disabled: nothing at all.</p>}
          {teams.length > 0 && <p>Member of {teams.join(", ")}.</p>}
          {roles.length + projects.length === 0 && (
            <p>No role yet: after signing in, the user sees no project.</p>
          )}
          <ul className="plain-list">
            {roles.length > 0 && <RoleLine where="All projects" roles={roles} />}
            {projects.map(({ project, roles: some }) => (
              <RoleLine key={project} where={`Project ${project}`} roles={some} />
            ))}
          </ul>
          {roles.length === 0 && projects.length > 0 && (
            <p className="quiet">Other projects are not shown to the user.</p>
          )}
        </>
      )}
    </Loaded>
  );
}

function RoleLine({ where, roles }: { readonly where: string; readonly roles: readonly string[] }) {
  return (
    <li>
      <strong>{where}:</strong>{" "}
      {roles.map((role) => (
        <span key={role}>
          {role} <span className="quiet">({ROLES[role] ?? "a role of programs"})</span>
        </span>
      ))}
    </li>
  );
}
