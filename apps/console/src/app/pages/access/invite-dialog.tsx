import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { ProblemBox } from "../../parts/states.tsx";
import { useServer } from "../../session/server-context.tsx";
import { UserRights } from "./user-rights-dialog.tsx";
import { USER_ROLE_NAMES, type UserRoleName } from "./user-role-names.ts";

interface Invited {
  readonly name: string;
  readonly email: string;
  readonly role: UserRoleName;
  /** Empty for the whole account; undefined until it is chosen. */
  readonly project: string | undefined;
}

interface SignInProviders {
  readonly providers: readonly string[];
  /** Those that recognise an invited user by the address of mail. */
  readonly by_email: readonly string[];
}

/**
 * Makes a user before its first sign-in, with a role. The address that the teammate is sent holds no secret: who it is for is proven by
 * the identity provider.
 */
export function InviteDialog({ onClose }: { readonly onClose: () => void }) {
  const { client } = useServer();
  const queries = useQueryClient();
  const id = useId();
  const [given, setGiven] = useState<Invited>({
    name: "",
    email: "",
    role: "viewer",
    project: undefined,
  });
  /** It stays where its role could not be given: the next try continues from there. */
  const [made, setMade] = useState(false);
  const providers = useQuery({
    queryKey: ["sign-in-providers"],
    queryFn: async ({ signal }) => {
      const answer = await fetch("/auth/providers", { signal, cache: "no-store" });
      if (answer.ok) return (await answer.json()) as SignInProviders;
      return { providers: [], by_email: [] };
    },
  });
  const projects = useQuery({
    queryKey: ["projects"],
    queryFn: async ({ signal }) => (await client.listProjects({}, { signal })).data,
  });
  const names = projects.data?.projects.map(({ name }) => name) ?? [];
  const project = given.project ?? names[0] ?? "";
  const invite = useMutation({
    mutationFn: async () => {
      const { name, email, role } = given;
      if (!made) await client.createUser({ body: { name, email } });
      setMade(true);
      const at = { kind: "user" as const, subject: name, body: { role } };
      await (project === "" ? client.giveRole(at) : client.giveProjectRole({ ...at, project }));
    },
    onSettled: async () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ["users"] }),
        queries.invalidateQueries({ queryKey: ["roles"] }),
      ]),
  });
  const set = (change: Partial<Invited>): void => setGiven((former) => ({ ...former, ...change }));
  const { isSuccess: isDone } = invite;
  return (
    <Dialog
      title={isDone ? `${given.name} is invited` : "Invite a user"}
      confirm={isDone ? "Done" : "Invite"}
      canGoBack={!isDone}
      isBusy={invite.isPending}
      isReady={isDone || projects.data !== undefined}
      onConfirm={() => (isDone ? onClose() : invite.mutate())}
      onClose={onClose}
      problem={invite.error !== null && <ProblemBox error={invite.error} />}
    >
      {isDone ? (
        <>
          <p>
            Send this address. It holds no secret
            {providers.data !== undefined && providers.data.by_email.length > 0 && (
              <>
                : who signs in there with {providers.data.by_email.join(" or ")} as{" "}
                <strong>{given.email}</strong> is <strong>{given.name}</strong>
              </>
            )}
            .
          </p>
          <code className="command">{location.origin}/console/</code>
          {providers.data !== undefined && <LinkNote {...providers.data} name={given.name} />}
          <h3>What {given.name} will see and may do</h3>
          <UserRights user={given.name} />
        </>
      ) : (
        <>
          <label htmlFor={`${id}-name`}>Name</label>
          <input
            id={`${id}-name`}
            value={given.name}
            required
            disabled={made}
            autoComplete="off"
            spellCheck={false}
            pattern="[a-z0-9][a-z0-9_\-]*"
            title="small letters, digits, - and _"
            maxLength={63}
            onChange={(event) => set({ name: event.target.value })}
          />
          <label htmlFor={`${id}-email`}>Address of mail</label>
          <input
            id={`${id}-email`}
            type="email"
            value={given.email}
            required
            disabled={made}
            maxLength={256}
            onChange={(event) => set({ email: event.target.value })}
          />
          <label htmlFor={`${id}-project`}>Project</label>
          <select
            id={`${id}-project`}
            value={project}
            onChange={(event) => set({ project: event.target.value })}
          >
            {names.map((name) => (
              <option key={name}>{name}</option>
            ))}
            <option value="">all projects</option>
          </select>
          <label htmlFor={`${id}-role`}>Role</label>
          <select
            id={`${id}-role`}
            value={given.role}
            onChange={(event) =>
              set({ role: USER_ROLE_NAMES.find((one) => one === event.target.value) ?? "viewer" })
            }
          >
            {USER_ROLE_NAMES.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
          {providers.data !== undefined && (
            <LinkNote {...providers.data} name={given.name || "NAME"} />
          )}
        </>
      )}
    </Dialog>
  );
}

/** What is left to do where the server does not recognise the user by itself. */
function LinkNote({
  providers,
  by_email: byEmail,
  name,
}: SignInProviders & { readonly name: string }) {
  if (byEmail.length > 0) return null;
  if (providers.length === 0) {
    return (
      <p className="note attention">
        This server signs users in with no identity provider (<code>--sign-in</code>). Until it
        does, give a teammate a token, which the page Settings makes.
      </p>
    );
  }
  return (
    <div className="note attention">
      No identity provider of this server links users by their address (
      <code>link_verified_email</code>). Before the first sign-in, name the subject:
      <code className="command">
        stackwright users link {name} --provider {providers[0]} --subject SUBJECT
      </code>
    </div>
  );
}
