/** A browser as far as sign-ins need it: it keeps cookies per host and follows redirects when asked. */
export class Browser {
  readonly #cookies = new Map<string, Map<string, string>>();

  cookies(url: string): ReadonlyMap<string, string> {
    return this.#jar(url);
  }

  set(url: string, name: string, value: string): void {
    this.#jar(url).set(name, value);
  }

  /** Sends one request; `set-cookie` headers are kept. */
  async request(url: string, init: RequestInit = {}): Promise<Response> {
    const jar = this.#jar(url);
    const headers = new Headers(init.headers);
    if (jar.size > 0) headers.set("cookie", [...jar].map((pair) => pair.join("=")).join("; "));
    const answer = await fetch(url, { ...init, headers, redirect: "manual" });
    for (const line of answer.headers.getSetCookie()) {
      const [pair = "", ...attributes] = line.split(";").map((part) => part.trim());
      const [name = "", value = ""] = pair.split(/=(.*)/s);
      const isGone = attributes.some((one) => /^max-age=0$/i.test(one)) || value === "";
      if (isGone) jar.delete(name);
      else jar.set(name, value);
    }
    return answer;
  }

  /** Follows redirects until an answer is none, or leads to what `stop` says. */
  async follow(url: string, stop: (url: string) => boolean = () => false): Promise<Response> {
    let at = url;
    for (let hops = 0; hops < 15; hops += 1) {
      const answer = await this.request(at);
      const next = answer.headers.get("location");
      if (next === null) return answer;
      at = new URL(next, at).href;
      if (stop(at)) return answer;
    }
    throw new Error(`too many redirects from ${url}`);
  }

  #jar(url: string): Map<string, string> {
    const { host } = new URL(url);
    const jar = this.#cookies.get(host) ?? new Map<string, string>();
    this.#cookies.set(host, jar);
    return jar;
  }
}
