import type { Command } from "commander";
import type { AccountOptions } from "../commands/account-call.ts";
import type { CommandAction, Define } from "./program.ts";
import { collect } from "./run-commands.ts";
import { withServer } from "./with-server.ts";

type RoleOptions = AccountOptions & { project?: string; user?: string; team?: string };
type TeamOptions = AccountOptions & { group: string[]; provider?: string; description?: string };
type IdentityOptions = AccountOptions & { provider: string; subject: string };
type UserOptions = AccountOptions & { service: boolean; displayName?: string; email?: string };
type TokenOptions = AccountOptions & {
  role: string;
  user?: string;
  project: string[];
  stack: string[];
  description?: string;
  days?: string;
};

/** Commands about who may do what on a server: users, teams, roles, tokens. */
export function defineAccessCommands(define: Define, run: CommandAction): void {
  defineUserCommands(define, run);
  defineTeamCommands(define, run);
  defineRoleCommands(define, run);
  defineTokenCommands(define, run);
}

function defineUserCommands(define: Define, run: CommandAction): void {
  const users = define("users", "list and make the users and service accounts of a server");
  withServer(define("list", "list users and service accounts", users)).action(
    async (options: AccountOptions, command: Command) => {
      const { usersList } = await import("../commands/users.ts");
      await run(command, async (context) => usersList(options, context));
    },
  );
  withServer(define("create <name>", "create a user or a service account", users))
    .option("--service", "a service account, which signs in nowhere", false)
    .option("--display-name <text>", "name to show")
    .option("--email <address>", "address of mail")
    .action(async (name: string, options: UserOptions, command: Command) => {
      const { usersCreate } = await import("../commands/users.ts");
      await run(command, async (context) => usersCreate(name, options, context));
    });
  for (const [word, text, disabled] of [
    ["disable", "refuse all tokens and sessions of a user", true],
    ["enable", "take the tokens of a disabled user again", false],
  ] as const) {
    withServer(define(`${word} <name>`, text, users)).action(
      async (name: string, options: AccountOptions, command: Command) => {
        const { usersDisable } = await import("../commands/users.ts");
        await run(command, async (context) => usersDisable(name, disabled, options, context));
      },
    );
  }
  defineIdentityCommands(users, define, run);
}

function defineIdentityCommands(users: Command, define: Define, run: CommandAction): void {
  withServer(define("identities <name>", "list what identity providers call a user", users)).action(
    async (name: string, options: AccountOptions, command: Command) => {
      const { usersIdentities } = await import("../commands/users.ts");
      await run(command, async (context) => usersIdentities(name, options, context));
    },
  );
  withServer(define("link <name>", "link an identity, with which the user then signs in", users))
    .requiredOption("--provider <name>", "identity provider, as the server calls it")
    .requiredOption("--subject <text>", "what the provider calls the user: the claim sub")
    .action(async (name: string, options: IdentityOptions, command: Command) => {
      const { usersLink } = await import("../commands/users.ts");
      await run(command, async (context) => usersLink(name, options, context));
    });
  withServer(
    define(
      "unlink <name> <identity>",
      "unlink an identity, and end the sessions of the user",
      users,
    ),
  ).action(async (name: string, identity: string, options: AccountOptions, command: Command) => {
    const { usersUnlink } = await import("../commands/users.ts");
    await run(command, async (context) => usersUnlink(name, identity, options, context));
  });
}

function defineTeamCommands(define: Define, run: CommandAction): void {
  const teams = define("teams", "list and change the teams of a server");
  withServer(define("list", "list teams with their members", teams)).action(
    async (options: AccountOptions, command: Command) => {
      const { teamsList } = await import("../commands/teams.ts");
      await run(command, async (context) => teamsList(options, context));
    },
  );
  withServer(define("create <name>", "create a team", teams))
    .option("--group <name>", "its users are members as well; may be repeated", collect, [])
    .option("--provider <name>", "identity provider of the groups, where there are several")
    .option("--description <text>", "explanation of the team")
    .action(async (name: string, options: TeamOptions, command: Command) => {
      const { teamsCreate } = await import("../commands/teams.ts");
      await run(command, async (context) => teamsCreate(name, options, context));
    });
  withServer(define("delete <name>", "delete a team with its roles", teams)).action(
    async (name: string, options: AccountOptions, command: Command) => {
      const { teamsDelete } = await import("../commands/teams.ts");
      await run(command, async (context) => teamsDelete(name, options, context));
    },
  );
  for (const [word, text, isAdded] of [
    ["add", "add a user to a team", true],
    ["remove", "remove a user from a team", false],
  ] as const) {
    withServer(define(`${word} <team> <user>`, text, teams)).action(
      async (team: string, user: string, options: AccountOptions, command: Command) => {
        const { teamsMember } = await import("../commands/teams.ts");
        await run(command, async (context) => teamsMember(team, user, isAdded, options, context));
      },
    );
  }
}

function defineRoleCommands(define: Define, run: CommandAction): void {
  const roles = define("roles", "give roles in the account or in a project");
  const withPlace = (command: Command): Command =>
    withServer(command).option("--project <name>", "in this project; without it in the account");
  const withSubject = (command: Command): Command =>
    withPlace(command)
      .option("--user <name>", "of this user")
      .option("--team <name>", "of this team");
  withPlace(define("list", "list the roles that are given", roles)).action(
    async (options: RoleOptions, command: Command) => {
      const { rolesList } = await import("../commands/roles.ts");
      await run(command, async (context) => rolesList(options, context));
    },
  );
  withSubject(
    define("give <role>", "viewer, planner, operator, publisher (of the account) or admin", roles),
  ).action(async (role: string, options: RoleOptions, command: Command) => {
    const { rolesGive } = await import("../commands/roles.ts");
    await run(command, async (context) => rolesGive(role, options, context));
  });
  withSubject(define("take", "take a role away", roles)).action(
    async (options: RoleOptions, command: Command) => {
      const { rolesTake } = await import("../commands/roles.ts");
      await run(command, async (context) => rolesTake(options, context));
    },
  );
}

function defineTokenCommands(define: Define, run: CommandAction): void {
  const tokens = define("tokens", "make, list and revoke tokens of a server");
  withServer(define("list", "list tokens with their last use", tokens)).action(
    async (options: AccountOptions, command: Command) => {
      const { tokensList } = await import("../commands/tokens.ts");
      await run(command, async (context) => tokensList(options, context));
    },
  );
  withServer(define("create", "make a token, and write it once", tokens))
    .requiredOption("--role <role>", "the most that it allows: viewer, planner, operator, ...")
    .option("--user <name>", "of this service account; without it of the caller")
    .option("--project <name>", "in this project alone; may be repeated", collect, [])
    .option("--stack <name>", "for PROJECT/STACK alone; may be repeated", collect, [])
    .option("--pool <name>", "with --role worker: the pool whose runs it executes")
    .option("--description <text>", "what it is for")
    .option("--days <n>", "days until it expires, up to 366; 90 by default, a worker's never")
    .action(async (options: TokenOptions, command: Command) => {
      const { tokensCreate } = await import("../commands/tokens.ts");
      await run(command, async (context) => tokensCreate(options, context));
    });
  withServer(define("revoke <id>", "revoke a token, with those made with it", tokens)).action(
    async (id: string, options: AccountOptions, command: Command) => {
      const { tokensRevoke } = await import("../commands/tokens.ts");
      await run(command, async (context) => tokensRevoke(id, options, context));
    },
  );
}
