import { Link, Outlet, useLocation } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { FrozenBar } from "./pages/freeze/frozen-bar.tsx";
import { Palette } from "./palette/palette.tsx";
import { ShownPage } from "./parts/page-head.tsx";
import { useFocusInView } from "./parts/use-focus-in-view.ts";
import { isAt, PLACES_IN_BAR, placesFor } from "./places.ts";
import { useServer } from "./session/server-context.tsx";
import { SignedInAlready } from "./session/signed-in-already.tsx";

/** Of narrow screens alone. */
const MoreSheet = lazy(async () => ({ default: (await import("./more-sheet.tsx")).MoreSheet }));

/** What surrounds every page: navigation, search, the state of the stream, the user. */
export function Frame() {
  const { caller, opened, signOut } = useServer();
  const [isSearching, setSearching] = useState(false);
  const [isMoreOpen, setMoreOpen] = useState(false);
  const path = useLocation({ select: ({ pathname }) => pathname });
  const shownPage = useRef<string>(undefined);
  useFocusInView();
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
  const places = placesFor(caller);
  const isBeyond = places.slice(PLACES_IN_BAR).some((place) => isAt(place, path));
  const who = caller.user ?? caller.account;
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
          {who}
        </span>
        <a className="wide-only" href="/help/">
          Help
        </a>
        <button type="button" className="plain wide-only" onClick={signOut}>
          Sign out
        </button>
      </header>
      <nav className="side" aria-label="Main">
        {places.map((place, at) => (
          <Link
            key={place.to}
            to={place.to}
            activeOptions={{ exact: place.exact ?? false, includeSearch: false }}
            activeProps={{}}
            className={classOf(isAt(place, path), at >= PLACES_IN_BAR)}
          >
            {place.label}
          </Link>
        ))}
        <button
          type="button"
          className={isBeyond ? "more active" : "more"}
          aria-haspopup="dialog"
          aria-expanded={isMoreOpen}
          onClick={() => setMoreOpen(true)}
        >
          More
        </button>
      </nav>
      <main id="content" tabIndex={-1}>
        <SignedInAlready opened={opened} who={caller.user ?? caller.actor} />
        <FrozenBar />
        <ShownPage value={shownPage}>
          <Outlet />
        </ShownPage>
      </main>
      {isMoreOpen && (
        <Suspense>
          <MoreSheet
            places={places}
            who={who}
            onSignOut={signOut}
            onClose={() => setMoreOpen(false)}
          />
        </Suspense>
      )}
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

function classOf(isActive: boolean, isBeyond: boolean): string {
  return [isActive ? "active" : "", isBeyond ? "wide-only" : ""].filter(Boolean).join(" ");
}
