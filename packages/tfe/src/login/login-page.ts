import type { TfeBrowserSession, TfeSignInLink } from "../port/login-port.ts";
import type { LoginRequest } from "./login-request.ts";
import { LOGIN_CLIENT } from "./login-request.ts";
import { escapedText, plainPage, plainPolicy } from "./plain-page.ts";

/** What a login page offers beside a token. */
interface LoginChoices {
  /** The user who is signed in in the browser. */
  readonly session?: Pick<TfeBrowserSession, "name" | "pageToken"> | undefined;
  readonly links?: readonly TfeSignInLink[] | undefined;
  readonly problem?: string;
}

/** The page that asks for a token, or for the consent of who is signed in. It runs no script, and can be shown in no other page. */
export function loginPage(
  { redirectUri, state, challenge }: LoginRequest,
  { session, links = [], problem = "" }: LoginChoices = {},
): string {
  const hidden = {
    client_id: LOGIN_CLIENT,
    response_type: "code",
    code_challenge_method: "S256",
    code_challenge: challenge,
    redirect_uri: redirectUri,
    state,
  };
  const inputs = Object.entries(hidden).map(
    ([name, value]) => `<input type="hidden" name="${name}" value="${escapedText(value)}">`,
  );
  return plainPage(`<h1>Sign in for a command</h1>
<p>A command on this machine asks for a token with your roles, for 90 days. Continue only if you started <code>stackwright login</code>,
<code>terraform login</code> or <code>tofu login</code> yourself; else close this page.</p>
${problem === "" ? "" : `<p class="problem">${escapedText(problem)}</p>`}
${session === undefined ? linksOf(links) : consentOf(session, inputs.join(""))}
<form method="post">${inputs.join("")}
<label>Token of this server <input type="password" name="token" autocomplete="off" autofocus required></label>
<button>Sign in</button></form>`);
}

/** The form of a user who is signed in: its token of the page proves that the form is this one. */
function consentOf(
  { name, pageToken }: Pick<TfeBrowserSession, "name" | "pageToken">,
  inputs: string,
) {
  return `<form method="post">${inputs}<input type="hidden" name="page_token" value="${escapedText(pageToken)}">
<button>Continue as ${escapedText(name)}</button></form><p>Or with a token:</p>`;
}

function linksOf(links: readonly TfeSignInLink[]): string {
  if (links.length === 0) return "";
  const items = links.map(
    ({ name, path }) =>
      `<p><a href="${escapedText(path)}">Sign in with ${escapedText(name)}</a></p>`,
  );
  return `${items.join("")}<p>Or with a token:</p>`;
}

/** The page for a request that no command makes. */
export function refusedPage(): string {
  return plainPage(
    "<h1>Sign-in refused</h1><p>The address is not one of a login. Close this page, press Ctrl-C in the command, and start it again.</p>",
  );
}

/** What the pages may load and where their form leads: nothing, and back to the command. */
export function pagePolicy(request?: LoginRequest): string {
  const action = request === undefined ? "'none'" : `'self' ${new URL(request.redirectUri).origin}`;
  return plainPolicy(action);
}
