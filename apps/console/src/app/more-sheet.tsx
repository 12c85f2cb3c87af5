import { Link } from "@tanstack/react-router";
import { type MouseEvent, useEffect, useId, useRef } from "react";
import type { Place } from "./places.ts";

interface MoreSheetProps {
  readonly places: readonly Place[];
  readonly who: string;
  readonly onSignOut: () => void;
  readonly onClose: () => void;
}

/**
 * All pages, over the lower part of a narrow screen. The browser keeps focus inside, closes it with Escape, and gives focus back to the
 * button that opened it.
 */
export function MoreSheet({ places, who, onSignOut, onClose }: MoreSheetProps) {
  const sheet = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const { current } = sheet;
    if (current !== null && !current.open) current.showModal();
    // On a wide screen all pages are beside the page: nobody is left in a sheet whose button is gone.
    const wide = matchMedia("(min-width: 768px)");
    const close = (): void => current?.close();
    wide.addEventListener("change", close);
    return () => wide.removeEventListener("change", close);
  }, []);
  const close = (): void => sheet.current?.close();
  const onClick = (event: MouseEvent): void => {
    // Beside the sheet.
    if (event.target === sheet.current) close();
  };
  return (
    <dialog
      ref={sheet}
      className="more-sheet"
      aria-labelledby={id}
      onClose={onClose}
      onClick={onClick}
    >
      <div className="section-head">
        <h2 id={id}>All pages</h2>
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
      <nav aria-label="All pages">
        <ul>
          {places.map(({ to, label, exact = false }) => (
            <li key={to}>
              <Link to={to} activeOptions={{ exact, includeSearch: false }} onClick={close}>
                {label}
              </Link>
            </li>
          ))}
          <li>
            <a href="/help/">Help</a>
          </li>
        </ul>
      </nav>
      <p className="section-head">
        <span className="quiet">{who}</span>
        <button type="button" onClick={onSignOut}>
          Sign out
        </button>
      </p>
    </dialog>
  );
}
