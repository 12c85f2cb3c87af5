import { Link, Outlet } from "@tanstack/react-router";
import { useEffect, useState, useSyncExternalStore } from "react";
import { FrozenBar } from "./pages/freeze/frozen-bar.tsx";
import { Palette } from "./palette/palette.tsx";
import { useCurrentInView } from "./parts/use-current-in-view.ts";
import { isAccountAdmin, mayDo, useServer } from "./session/server-context.tsx";
import { SignedInAlready } from "./session/signed-in-already.tsx";

interface Place {
  readonly to: string;
  readonly label: string;
  readonly exact?: boolean;
}

const PLACES: readonly Place[] = [
  { to: "/", label: "Overview", exact: true },
  { to: "/projects", label: "Projects" },
  { to: "/drift", label: "Drift" },
  { to: "/graph", label: "Graph" },
  { to: "/registry", label: "Registry" },
];

/** What surrounds every page: navigation, search, the state of the stream, the user. */
export function Frame() {
  const { caller, opened, signOut } = useServer();
  const bar = useCurrentInView();
  const [isSearching, setSearching] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        setSearching(true);
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const places: readonly Place[] = [
    ...PLACES,
    ...(mayDo(caller, "admin") ? [{ to: "/audit", label: "Audit" }] : []),
    ...(isAccountAdmin(caller) ? [{ to: "/access", label: "Access" }] : []),
    { to: "/settings", label: "Settings" },
  ];
  return (
    <div className="frame">
      <a className="skip" href="#content">
        Skip to content
      </a>
      <header className="top">
        <Link to="/" className="brand">
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <path d="M8 1 1 4.5 8 8l7-3.5zM1 8l7 3.5L15 8v2.2L8 13.7 1 10.2z" />
          </svg>
          <span>Stackwright</span>
        </Link>
        <button type="button" className="search" onClick={() => setSearching(true)}>
          Search <kbd>Ctrl K</kbd>
        </button>
        <Connection />
        <span className="who" title={`${caller.account}, ${caller.roles.join(", ")}`}>
          {caller.user ?? caller.account}
        </span>
        <a href="/help/">Help</a>
        <button type="button" className="plain" onClick={signOut}>
          Sign out
        </button>
      </header>
      <nav ref={bar} className="side" aria-label="Main">
        {places.map(({ to, label, exact = false }) => (
          <Link key={to} to={to} activeOptions={{ exact, includeSearch: false }}>
            {label}
          </Link>
        ))}
      </nav>
      <main id="content" tabIndex={-1}>
        <SignedInAlready opened={opened} who={caller.user ?? caller.actor} />
        <FrozenBar />
        <Outlet />
      </main>
      {isSearching && <Palette onClose={() => setSearching(false)} />}
    </div>
  );
}

/** Whether what is shown is how things are. */
function Connection() {
  const { stacks } = useServer();
  const { state, sinceMs } = useSyncExternalStore(stacks.subscribe, stacks.snapshot);
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    setLate(false);
    if (state === "live") return undefined;
    // Short gaps are none of the user's business.
    const timer = setTimeout(() => setLate(true), Math.max(0, sinceMs + 3_000 - Date.now()));
    return () => clearTimeout(timer);
  }, [state, sinceMs]);
  const isShownLive = state === "live" || (state === "reconnecting" && !isLate);
  const text = isShownLive ? "Live" : state === "failed" ? "Not live" : "Reconnecting…";
  return (
    <span className={`connection ${isShownLive ? "live" : "lost"}`} role="status">
      {state === "connecting" && !isLate ? "Connecting…" : text}
    </span>
  );
}
