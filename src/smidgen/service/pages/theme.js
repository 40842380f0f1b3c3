// Light or dark: what the system says, unless the person has chosen. Runs before the first paint.
(() => {
  const stored = () => { try { return localStorage.getItem("smidgen-theme"); } catch { return null; } };
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    document.documentElement.dataset.theme = stored() || (system.matches ? "dark" : "light");
    document.dispatchEvent(new Event("themechange"));
  };
  apply();
  system.addEventListener("change", apply);
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    if (!button) return;
    const show = () => {
      const dark = document.documentElement.dataset.theme === "dark";
      button.textContent = dark ? "☀" : "☾";
      button.setAttribute("aria-pressed", String(dark));
    };
    show();
    document.addEventListener("themechange", show);
    button.addEventListener("click", () => {
      const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
      try { localStorage.setItem("smidgen-theme", next); } catch { /* private windows */ }
      document.documentElement.dataset.theme = next;
      document.dispatchEvent(new Event("themechange"));
    });
  });
})();
