import type { LanguageHost } from "./language-host.ts";

/** What a user decides for a folder: whether programs that it brings are started. */
export type TrustDecision = "trusted" | "refused";

/** What the trust in folders needs. */
interface ProviderTrustOptions {
  readonly trust: LanguageHost["trust"];
  /** The folder of the workspace that has a folder, or the folder itself. */
  readonly rootOf: (folder: string) => string;
  /** Whether a folder is of the workspace, or there is none. */
  readonly isInWorkspace: (folder: string) => boolean;
  /** Asks the user; undefined where there is no answer. */
  readonly ask: (root: string) => Promise<TrustDecision | undefined>;
  /** A folder may start its programs from now on. */
  readonly onTrusted: (root: string) => void;
  readonly onError: (error: unknown) => void;
}

/** Where packages of modules are unpacked. They bring what their authors like, which those who trust a workspace did not look at. */
const OF_PACKAGES = /[\\/]\.(?:terraform|stackwright)(?:[\\/]|$)/;

/**
 * Providers are programs, and a folder can bring its own. They are started where the editor says that the workspace is trusted, or else in
 * folders that the user trusts. Others are asked about once; what is answered, the host remembers. Fetched modules are never trusted.
 */
export class ProviderTrust {
  readonly #options: ProviderTrustOptions;
  readonly #asked = new Set<string>();
  /** What an editor with a trust of its own says of the whole workspace. */
  ofEditor: boolean | undefined;

  constructor(options: ProviderTrustOptions) {
    this.#options = options;
  }

  /** Whether programs of the folder may be started now. Does not wait for a user. */
  async allows(folder: string): Promise<boolean> {
    const { trust, rootOf, isInWorkspace } = this.#options;
    if (this.ofEditor === false) return false;
    if (trust === undefined) return true;
    if (OF_PACKAGES.test(folder)) return false;
    if (this.ofEditor === true && isInWorkspace(folder)) return true;
    const decision = await trust.decision(folder);
    if (decision !== undefined) return decision === "trusted";
    const root = rootOf(folder);
    if (!this.#asked.has(root)) {
      this.#asked.add(root);
      void this.#ask(root, trust);
    }
    return false;
  }

  async #ask(root: string, trust: Required<LanguageHost>["trust"]): Promise<void> {
    try {
      const answer = await this.#options.ask(root);
      if (answer === undefined) return;
      await trust.remember(root, answer);
      if (answer === "trusted") this.#options.onTrusted(root);
    } catch (error) {
      this.#options.onError(error);
    }
  }
}
