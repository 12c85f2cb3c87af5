/** Who signs in, by a token. */
export interface TfeSignedIn {
  readonly account: string;
  readonly actor: string;
  readonly roles: readonly string[];
  readonly projects: readonly string[];
  /** When the token of the sign-in ends, in milliseconds since 1970; null for never. */
  readonly untilMs: number | null;
  /** The user, where it signed in without a token. */
  readonly user?: string;
}

/** A user who is signed in in a browser already. */
export interface TfeBrowserSession {
  readonly owner: TfeSignedIn;
  /** What the page shows. */
  readonly name: string;
  /** What a page of the server sends with its form, and a page of another site cannot know. */
  readonly pageToken: string;
}

/** A way to sign in in the browser. */
export interface TfeSignInLink {
  readonly name: string;
  readonly path: string;
}

/** What says whose browser sends a request, and to whom. */
interface TfeBrowserHeaders {
  readonly cookie?: string | undefined;
  readonly host?: string | undefined;
}

/** Sign-in of commands by a browser. */
export interface LoginPort {
  /** Counts a request of a remote address: 0, or the milliseconds after which it may come again. */
  admit(address: string): number;
  /** Who has a token; undefined where it is not valid. */
  owner(token: string): Promise<TfeSignedIn | undefined>;
  /** Who is signed in in the browser that sends these headers. @default none is */
  session?(headers: TfeBrowserHeaders): Promise<TfeBrowserSession | undefined>;
  /** Where a browser signs in and comes back to a page of the server. @default nowhere: the page asks for a token */
  signInLinks?(to: string): readonly TfeSignInLink[];
  /** Makes the token with these 32 bytes for a command; undefined where it was made before. It ends no later than that of the sign-in. */
  issue(owner: TfeSignedIn, secret: Uint8Array): Promise<string | undefined>;
  /** Authenticates codes: 32 bytes, the same in all servers of a store. */
  codeKey(): Promise<Uint8Array>;
  /** Milliseconds since 1970. */
  wallMs(): number;
  /** 16 random bytes. */
  nonce(): Uint8Array;
}
