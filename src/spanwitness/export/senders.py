"""The sender that the settings ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.errors import SettingsError

if TYPE_CHECKING:
    from spanwitness.export.destination import ExportSettings
    from spanwitness.export.parcel import Sender

__all__ = ["make_sender"]


def make_sender(settings: ExportSettings) -> Sender:
    """Make the sender for the endpoint and protocol; without an endpoint, for the directory.

    Raises:
        SettingsError: Neither is given, or one cannot be used.
    """
    if settings.endpoint is None:
        if settings.directory is None:
            raise SettingsError("give an endpoint or a directory: spans would go nowhere")
        from spanwitness.export.file import FileSender

        return FileSender(settings)
    if settings.protocol == "grpc":
        from spanwitness.export.otlp_grpc import GrpcSender

        return GrpcSender(settings)
    from spanwitness.export.otlp_http import HttpSender

    return HttpSender(settings)
