"""Preferences: what is wrong with their file is told in Monitor; what cannot be stored holds for this window."""

from gputuner.gui.theme import Choice
from gputuner.model.errors import StoreError
from gputuner.telemetry.feed import Notice


def wrong(code, **params):
    return Notice(code=code, t_ns=0, params={"path": "/home/u/preferences.json", **params})


def test_what_is_wrong_with_the_file_is_told_where_notices_are(open_window, invented):
    ports = invented.ports()
    ports.wrong_preferences = [wrong("preferences_malformed"), wrong("preference_ignored", key="fast_hz")]
    window = open_window(ports)
    window.monitor.refresh_if_needed()
    told = window.monitor.standing.texts
    assert any("/home/u/preferences.json cannot be understood" in line for line in told)
    assert any("fast_hz has a value that cannot be" in line for line in told)


def test_a_file_that_was_mended_is_not_spoken_of_when_the_page_is_next_shown(open_window, invented):
    ports = invented.ports()
    ports.wrong_preferences = [wrong("preferences_malformed")]
    window = open_window(ports)
    ports.wrong_preferences = []
    window.navigate("sessions")
    window.navigate("monitor")
    window.monitor.refresh_if_needed()
    assert not any("cannot be understood" in line for line in window.monitor.standing.texts)


def test_a_theme_that_cannot_be_stored_is_used_all_the_same(open_window, invented):
    ports = invented.ports()
    path = "/home/u/preferences.json"
    ports.preferences_error = StoreError("preferences_newer", "newer", path=path)
    window = open_window(ports)
    window.choose_theme(Choice.DARK)
    assert window.choice is Choice.DARK
    assert path in window.monitor.notice.text
    window.choose_language("zh_CN")
    assert path in window.monitor.notice.text
