import type { DeviceLogin } from "@stackwright/proto/stackwright";
import { escapedText, plainPage } from "@stackwright/tfe";
import { shownUserCode } from "./device-codes.ts";

/** Where the pages are. */
export const DEVICE_PAGE = "/oauth/device";

/** Who is signed in in the browser, and what its pages send with their forms. */
export interface PageSession {
  readonly user: string;
  readonly pageToken: string;
}

/** The page of a browser in which no user is signed in. */
export function signInPage(providers: readonly string[]): string {
  const to = encodeURIComponent(DEVICE_PAGE);
  const links = providers.map(
    (name) =>
      `<p><a href="/auth/login/${escapedText(name)}?to=${to}">Sign in with ${escapedText(name)}</a></p>`,
  );
  return plainPage(`<h1>Sign in a command</h1>
<p>Sign in first, and then type the code that the command shows.</p>${links.join("")}`);
}

/** The page that asks for the code. */
export function codePage({ user, pageToken }: PageSession, problem = ""): string {
  return plainPage(`<h1>Sign in a command</h1>
${problem === "" ? "" : `<p class="problem">${escapedText(problem)}</p>`}
<p>You are signed in as ${escapedText(user)}. Type the code that <code>stackwright login</code> shows on the other machine.</p>
<form method="post" action="${DEVICE_PAGE}">${hidden("page_token", pageToken)}
<label>Code <input type="text" name="user_code" autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="32" autofocus required></label>
<button>Continue</button></form>`);
}

/** The page that shows what asks, and asks for consent. */
export function consentPage(
  { user, pageToken }: PageSession,
  userCode: string,
  login: DeviceLogin,
): string {
  const name = escapedText(user);
  const allowed =
    login.role === "admin"
      ? `all that ${name} may`
      : `of what ${name} may, at most that of the role ${escapedText(login.role)}`;
  const facts = {
    Code: escapedText(shownUserCode(userCode)),
    "Machine, as it calls itself": escapedText(login.host || "unknown"),
    Address: escapedText(login.remoteAddress),
    "Asked at": timeText(Number(login.createdAtMs)),
    "The token allows": allowed,
    For: "90 days; it can be revoked before",
  };
  const list = Object.entries(facts).map(([term, text]) => `<dt>${term}</dt><dd>${text}</dd>`);
  return plainPage(`<h1>Sign in a command as ${name}?</h1><dl>${list.join("")}</dl>
<p>Agree only if you started <code>stackwright login</code> on that machine yourself, and it shows this code. Refuse a code that was sent to you:
who sent it gets the token.</p>
<form method="post" action="${DEVICE_PAGE}/decision">${hidden("page_token", pageToken)}${hidden("user_code", userCode)}
<button name="decision" value="agreed">Agree</button><button name="decision" value="refused">Refuse</button></form>`);
}

export function messagePage(title: string, text: string): string {
  return plainPage(`<h1>${escapedText(title)}</h1><p>${escapedText(text)}</p>`);
}

function hidden(name: string, value: string): string {
  return `<input type="hidden" name="${name}" value="${escapedText(value)}">`;
}

function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}
