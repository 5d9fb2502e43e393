import { Outlet, useRouter } from "@tanstack/react-router";
import { lazy, Suspense, useEffect } from "react";
import { ErrorNote } from "@/components/EmptyState";
import { Toaster } from "@/components/Toast";
import { useZone } from "@/format";
import { openOverlay, openPalette, useOverlay } from "./overlays";
import { SessionProvider, useSessionQuery } from "./session";
import { useShortcut } from "./shortcuts";
import { BottomBar, Sidebar } from "./Sidebar";
import { toggleTheme } from "./theme";

const OVERLAYS = { palette: lazy(() => import("./Palette")), shortcuts: lazy(() => import("./Shortcuts")), zone: lazy(() => import("./ZoneChooser")) };

/** Leads to the sign-in page, which leads back. */
function ToSignIn() {
  const router = useRouter();
  useEffect(() => {
    const { href, pathname } = router.latestLocation;
    if (pathname !== "/sign-in") void router.navigate({ to: "/sign-in", search: href === "/" ? {} : { next: href }, replace: true });
  }, [router]);
  return null;
}

/** Sidebar, page and overlays for whoever is signed in; leads others to the sign-in page and back. */
export function Shell() {
  const session = useSessionQuery();
  const overlay = useOverlay();
  const zone = useZone();
  useShortcut("mod+k", openPalette);
  useShortcut("t", toggleTheme);
  useShortcut("z", () => openOverlay("zone"));
  useShortcut("?", () => openOverlay("shortcuts"));

  const Overlay = overlay && OVERLAYS[overlay];

  if (session.isPending) return null;
  if (session.error) return <main className="grid min-h-dvh place-items-center"><ErrorNote error={session.error} title="The gateway did not answer" onRetry={() => void session.refetch()} /></main>;
  if (!session.data) return <ToSignIn />;
  return (
    <SessionProvider session={session.data}>
      <a href="#main" className="absolute -top-12 left-2 z-99 rounded-md border border-line-strong bg-surface px-3 py-2 focus:top-2">
        Skip to content
      </a>
      <div className="flex min-h-dvh phone:block phone:pb-14">
        <Sidebar />
        <div key={zone} className="flex min-w-0 flex-1 flex-col">
          <Outlet />
        </div>
      </div>
      <BottomBar />
      {Overlay && (
        <Suspense>
          <Overlay />
        </Suspense>
      )}
      <Toaster />
    </SessionProvider>
  );
}
