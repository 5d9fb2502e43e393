// Sets the theme before the first paint: the stored choice, else the system's.
(function () {
  var stored = null;
  try {
    stored = localStorage.getItem("gatehouse.theme");
  } catch {
    // Storage is blocked: the system decides.
  }
  var dark = stored ? stored === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
