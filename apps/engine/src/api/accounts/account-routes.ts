import { Account } from "@stackwright/proto/stackwright";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { accountContents } from "../../accounts/account-contents.ts";
import { isAccountName } from "../../accounts/account-name.ts";
import { readAccount } from "../../accounts/account-record.ts";
import { deleteAccount } from "../../accounts/delete-account.ts";
import { isKnownAccount, listAccountNames } from "../../accounts/known-accounts.ts";
import { accountPlace } from "../../domain/kinds-of-accounts.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { transact } from "../../queue/transaction.ts";
import { MadeToken } from "../access/access-view.ts";
import { type ApiParts, etagOf, MatchHeader, requireMatch, routeSchema } from "../api-parts.ts";
import { isSiteAdmin } from "../api-roles.ts";
import { nextPage, PageQuery, pageOf } from "../list-page.ts";
import {
  AccountName,
  AccountSettings,
  AccountView,
  accountChangeOf,
  accountViewOf,
  NewAccount,
  NewAccountToken,
  ShownAccount,
} from "./account-view.ts";

const AccountParams = Type.Object({ account: AccountName });
const CHANGED = { 412: "it changed since it was read", 428: "If-Match is missing" };
const DAY_MS = 24 * 3_600_000;
const DEFAULT_DAYS = 90;
/** Accounts of a server. */
const MAX_ACCOUNTS = 10_000;
const KIND = SERVER_KINDS.account;
const ACCOUNT = "/accounts/:account";
const ListQuery = Type.Object(
  {
    ...PageQuery.properties,
    q: Type.Optional(
      Type.String({ maxLength: 64, description: "part of a name, in any case of letters" }),
    ),
  },
  { additionalProperties: false },
);

type InAccount = { Params: Static<typeof AccountParams> };

/** `/accounts`: made by those who administer the server. The administrators of an account see and name their own. */
export function accountRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, access, credentials, clock, audit, principalOf } = parts;
  const ofSite = { access: "site-admin" } as const;
  const ofAccount = { access: "account-admin" } as const;

  /** The account of a request, where its caller may know of it. */
  const accountOf = async (request: FastifyRequest<InAccount>): Promise<string> => {
    const { account } = request.params;
    const principal = principalOf(request);
    const isSeen = account === principal.account || isSiteAdmin(principal);
    if (isSeen && isAccountName(account) && (await isKnownAccount(parts, account))) return account;
    throw new ServerError("not_found", `there is no account "${account}"`);
  };

  fastify.get<{ Querystring: Static<typeof ListQuery> }>(
    "/accounts",
    {
      schema: routeSchema(
        "List the accounts of the server, by name",
        "ListAccounts",
        {
          200: Type.Object({
            accounts: Type.Array(AccountView),
            next: Type.Optional(Type.String({ description: "the cursor of the next page" })),
          }),
        },
        { querystring: ListQuery },
      ),
      config: ofSite,
    },
    async (request, reply) => {
      const { q = "", ...page } = request.query;
      const { limit, after } = pageOf(page);
      const part = q.toLowerCase();
      const names = (await listAccountNames(parts)).filter(
        (name) => name > after && name.toLowerCase().includes(part),
      );
      const shown = names.slice(0, limit);
      const accounts = await Promise.all(
        shown.map(async (name) => accountViewOf((await readAccount(storage, name)).message)),
      );
      const last = shown.at(-1);
      if (names.length <= limit || last === undefined) return { accounts };
      const rest = q === "" ? "" : `&q=${encodeURIComponent(q)}`;
      return { accounts, next: nextPage(request, reply, limit, last, rest) };
    },
  );

  fastify.post<{ Body: Static<typeof NewAccount> }>(
    "/accounts",
    {
      schema: routeSchema(
        "Create an account; the token of its first administrator is made by another request",
        "CreateAccount",
        { 201: AccountView },
        { body: NewAccount },
        { 409: "the name is in use", 422: "the name is reserved, or there are too many accounts" },
      ),
      config: ofSite,
    },
    async (request, reply) => {
      const { name, ...settings } = request.body;
      if (!isAccountName(name)) {
        throw new ServerError("unprocessable", `"${name}" is reserved for the server itself`);
      }
      const made = await transact(parts.audited(request), async (tx) => {
        const place = accountPlace(name);
        // Within the attempt: one that was written before its answer was lost is found before this is.
        const isTaken =
          (await tx.find(KIND, place)) !== undefined || (await isKnownAccount(parts, name));
        if (isTaken) throw new ServerError("name_taken", `there is an account "${name}"`);
        if ((await listAccountNames(parts)).length >= MAX_ACCOUNTS) {
          throw new ServerError("unprocessable", `a server has at most ${MAX_ACCOUNTS} accounts`);
        }
        const at = BigInt(tx.nowMs);
        const times = { createdAtMs: at, updatedAtMs: at };
        const account = Account.create({ name, ...accountChangeOf(settings), ...times });
        tx.create(KIND, place, account);
        return { account, generation: tx.generation };
      });
      reply.headers({ location: `/api/v1/accounts/${name}`, etag: etagOf(made.generation) });
      return reply.code(201).send(accountViewOf(made.account));
    },
  );

  fastify.get<InAccount>(
    ACCOUNT,
    {
      schema: routeSchema(
        "Show an account with what is in it: the own one, or with the role site-admin any",
        "ShowAccount",
        { 200: ShownAccount },
        { params: AccountParams },
      ),
      config: ofAccount,
    },
    async (request, reply) => {
      const account = await accountOf(request);
      const { message, generation } = await readAccount(storage, account);
      if (generation !== undefined) reply.header("etag", etagOf(generation));
      const contents = await accountContents(storage, account);
      return { ...accountViewOf(message), contents: [...contents] };
    },
  );

  fastify.patch<InAccount & { Body: Static<typeof AccountSettings> }>(
    ACCOUNT,
    {
      schema: routeSchema(
        "Change what an account is called: the own one, or with the role site-admin any",
        "ChangeAccount",
        { 200: AccountView },
        { params: AccountParams, body: AccountSettings, headers: MatchHeader },
        CHANGED,
      ),
      config: ofAccount,
    },
    async (request, reply) => {
      const name = await accountOf(request);
      const changed = await transact(parts.audited(request), async (tx) => {
        const updatedAtMs = BigInt(tx.nowMs);
        const empty = () => Account.create({ name, createdAtMs: updatedAtMs });
        const row = await tx.findOrNew(KIND, accountPlace(name), empty);
        requireSeen(request, row.resource?.generation);
        tx.update(row, { ...accountChangeOf(request.body), updatedAtMs });
        return { account: row.message, generation: tx.generation };
      });
      reply.header("etag", etagOf(changed.generation));
      return accountViewOf(changed.account);
    },
  );

  fastify.delete<InAccount>(
    ACCOUNT,
    {
      schema: routeSchema(
        "Delete an account in which nothing is left, with its users, teams, roles and credentials; its audit trail stays",
        "DeleteAccount",
        { 204: Type.Null() },
        { params: AccountParams, headers: MatchHeader },
        {
          ...CHANGED,
          409: "something is left in it, another deletion of it began meanwhile, users of a sign-in are of it, or it is that of the caller",
        },
      ),
      config: ofSite,
    },
    async (request, reply) => {
      const account = await accountOf(request);
      if (account === principalOf(request).account) {
        throw new ServerError("conflict", `the credential of the request is of "${account}"`);
      }
      const [issuer] = access.issuersOf(account);
      if (issuer !== undefined) {
        throw new ServerError(
          "conflict",
          `users of "${account}" sign in with "${issuer.provider}": take it out of the settings of the servers first`,
        );
      }
      await deleteAccount(parts.audited(request), account, (generation) =>
        requireSeen(request, generation),
      );
      access.forget(account);
      return reply.code(204).send();
    },
  );

  fastify.post<InAccount & { Body: Static<typeof NewAccountToken> }>(
    `${ACCOUNT}/tokens`,
    {
      schema: routeSchema(
        "Make the token of an administrator of an account, which stands for itself; it is shown once",
        "CreateAccountToken",
        { 201: MadeToken },
        { params: AccountParams, body: NewAccountToken },
        { 409: "the account is being deleted" },
      ),
      config: { ...ofSite, once: "begun-first" },
    },
    async (request, reply) => {
      const account = await accountOf(request);
      const { deletingAtMs } = (await readAccount(storage, account)).message;
      if (deletingAtMs > 0n) {
        throw new ServerError(
          "conflict",
          `the account "${account}" is being deleted; if that was interrupted, delete it again`,
        );
      }
      const { description = "", expires_in_days: days = DEFAULT_DAYS } = request.body;
      const expireTimeMs = clock.wallMs() + days * DAY_MS;
      const input = { account, roles: ["admin"] as const, description, expireTimeMs };
      const { token, tokenId } = await credentials.createToken(input);
      const principal = principalOf(request);
      if (account !== principal.account) {
        // Its administrators read of it as well as those of the account that the caller is of.
        const facts = { action: "CreateAccountToken", target: tokenId, outcome: "done" };
        await audit.note(request, { ...principal, account }, facts);
      }
      return reply.code(201).send({ id: tokenId, token });
    },
  );
}

/** As `requireMatch`; what has no record has no entity tag, so that only * names it. */
function requireSeen(request: FastifyRequest, generation: string | undefined): void {
  if (generation === undefined && request.headers["if-match"] === "*") return;
  requireMatch(request, generation);
}
