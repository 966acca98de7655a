/*
 * The things on Windows that Node cannot do, for the tests:
 *
 *   console COMMAND LINE   runs the command in a console of its own without a window; exits with its exit code
 *   event NUMBER           sends an event to every other program of its console: 0 Ctrl-C, 1 Ctrl-Break, 2 the window closes
 *   hold FILE              has a file open that others may only read, until it is ended; creates FILE.held once it has
 *
 * Under any other name than its own it is a stand-in for the program of that name: it writes its command line to the file
 * that HOOKTRAIL_TEST_RECORD names and exits with HOOKTRAIL_TEST_EXIT.
 */
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>
#include <windows.h>

static int failed(const char *what) {
  fprintf(stderr, "%s: error %lu\n", what, GetLastError());
  return 1;
}

static BOOL WINAPI ignore(DWORD event) {
  (void)event;
  return TRUE;
}

/* The command line after the program's name. */
static wchar_t *words(void) {
  wchar_t *at = GetCommandLineW();
  if (*at == L'"') at = wcschr(at + 1, L'"') + 1;
  while (*at && *at != L' ') at++;
  while (*at == L' ') at++;
  return at;
}

static int run_in_console(wchar_t *command) {
  STARTUPINFOW start = {.cb = sizeof start};
  PROCESS_INFORMATION program;
  DWORD code;
  if (!CreateProcessW(NULL, command, NULL, NULL, TRUE, CREATE_NO_WINDOW, NULL, NULL, &start, &program))
    return failed("CreateProcess");
  WaitForSingleObject(program.hProcess, INFINITE);
  GetExitCodeProcess(program.hProcess, &code);
  return code;
}

static int send_event(DWORD event) {
  SetConsoleCtrlHandler(ignore, TRUE);
  if (event == CTRL_C_EVENT) {
    if (!GenerateConsoleCtrlEvent(event, 0)) return failed("GenerateConsoleCtrlEvent");
    Sleep(100); /* Also this program gets it. */
    return 0;
  }
  /* Wine's console has only Ctrl-C. A console sends any event by a thread of this routine in each of its programs. */
  void *routine = (void *)GetProcAddress(GetModuleHandleA("kernelbase"), "CtrlRoutine");
  DWORD programs[64], count = GetConsoleProcessList(programs, 64);
  if (!routine || count == 0 || count > 64) return failed("GetConsoleProcessList");
  for (DWORD i = 0; i < count; i++) {
    if (programs[i] == GetCurrentProcessId()) continue;
    HANDLE program = OpenProcess(PROCESS_ALL_ACCESS, FALSE, programs[i]);
    if (!program || !CreateRemoteThread(program, NULL, 0, routine, (void *)(ULONG_PTR)event, 0, NULL))
      return failed("CreateRemoteThread");
  }
  return 0;
}

static int hold(const wchar_t *name) {
  wchar_t sign[1024];
  if (CreateFileW(name, GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0, NULL) == INVALID_HANDLE_VALUE)
    return failed("CreateFile");
  swprintf(sign, 1024, L"%ls.held", name);
  if (CreateFileW(sign, GENERIC_WRITE, 7, NULL, CREATE_NEW, 0, NULL) == INVALID_HANDLE_VALUE)
    return failed("CreateFile");
  Sleep(INFINITE);
  return 0;
}

static int stand_in(void) {
  char line[32768];
  FILE *file = fopen(getenv("HOOKTRAIL_TEST_RECORD"), "wb");
  WideCharToMultiByte(CP_UTF8, 0, GetCommandLineW(), -1, line, sizeof line, NULL, NULL);
  fputs(line, file);
  fclose(file);
  return atoi(getenv("HOOKTRAIL_TEST_EXIT"));
}

int main(void) {
  wchar_t own[1024];
  GetModuleFileNameW(NULL, own, 1024);
  if (!wcsstr(own, L"windows-native")) return stand_in();
  wchar_t *rest = words();
  if (!wcsncmp(rest, L"console ", 8)) return run_in_console(rest + 8);
  if (!wcsncmp(rest, L"event ", 6)) return send_event(rest[6] - L'0');
  if (!wcsncmp(rest, L"hold ", 5)) return hold(rest + 5);
  return failed("unknown command");
}
